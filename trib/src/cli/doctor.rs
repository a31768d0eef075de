//! The options of `trib doctor`.

use std::path::PathBuf;

use clap::Args;

/// Options of `trib doctor`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorOptions {
    /// A file, or a directory for files, whose file system and stripes are looked at.
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub path: PathBuf,
    /// Look at the effect of these hints too, over those of the environment: key=value, separated by ;; may be repeated.
    #[arg(long, alias = "hint", value_name = "HINTS")]
    pub hints: Vec<String>,
    /// The library to preload; by default the one beside this program.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// What `trib doctor` starts itself with, to load an MPI library in a process of its own.
    #[arg(long, hide = true)]
    pub load_mpi: bool,
    /// The launcher with its options, the program and its arguments. The program is not run.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  trib doctor -- mpiexec -n 16 ./program
      whether the library can be preloaded into this program, and which MPI library it has
  trib doctor --path /scratch/output
      the file system and the stripes of a directory";
