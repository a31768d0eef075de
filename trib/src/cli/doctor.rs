//! The options of `trib doctor`.

use std::path::PathBuf;

use clap::Args;

/// Options of `trib doctor`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorOptions {
    /// A file or a directory: check its file system and stripes.
    #[arg(long, value_name = "PATH", default_value = DEFAULT_PATH)]
    pub path: PathBuf,
    /// Measure calls on files in this directory, for about ten seconds, longer on a slow file: writes 40 to 512 MiB to a new file, and removes it. Prints a
    /// file for the hint trib_machine. Under a launcher with one process a host, all hosts write at the same time.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "path")]
    pub measure: Option<PathBuf>,
    /// Check these hints too: key=value, separated by semicolons. They override the environment; may be repeated.
    #[arg(long, alias = "hint", value_name = "HINTS")]
    pub hints: Vec<String>,
    /// The library to preload. Default: the library installed with this program.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Load the MPI library and describe it. `trib doctor` starts itself with this option, to load the library in a
    /// process of its own.
    #[arg(long, hide = true)]
    pub load_mpi: bool,
    /// The launcher with its options, the program and its arguments. The command does not run them.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The path that is checked if the user names none.
pub const DEFAULT_PATH: &str = ".";

const EXAMPLES: &str = "\
Examples:
  trib doctor -- mpiexec -n 16 ./program
      shows whether the library can be preloaded into this program, and which MPI library the program uses
  trib doctor --path /scratch/output
      shows the file system and the stripes of a directory
  mpiexec -n 4 -ppn 1 trib doctor --measure /scratch/output
      measures what calls on files take there, from 4 hosts at the same time";
