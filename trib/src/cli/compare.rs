//! The options of `trib compare`.

use std::path::PathBuf;

use clap::Args;
use regex::Regex;

use super::slow_file::SlowFileOptions;
use super::values::{timer, times};

/// Options of `trib compare`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct CompareOptions {
    /// The library to preload. Default: the library installed with this program, on Open MPI 4 as its component.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Another library to compare with: a command like yours, as words without quotes. May be repeated.
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub peers: Vec<String>,
    /// Directory for the files. Default: /dev/shm (memory), or $TMPDIR.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Number of measurements of each library, in alternation.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = times)]
    pub pairs: u64,
    /// A slow file system.
    #[command(flatten)]
    pub slow_file: SlowFileOptions,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// How your program is measured.
    #[command(flatten)]
    pub program: ProgramOptions,
    /// Your program: the launcher with its options, the program and its arguments. {directory} is replaced by a new
    /// folder in --directory for each run.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How your program is measured.
#[derive(Args)]
pub struct ProgramOptions {
    /// Try hints for the MPI library, and measure with the fastest hints too; with MPICH also without collective I/O.
    /// The hints reach the program through ROMIO_HINTS and PNETCDF_HINTS.
    #[arg(long)]
    pub best: bool,
    /// A regular expression that finds the program's own time in its output; the first group is a number of seconds.
    /// Several matches are added.
    #[arg(long, value_name = "REGEX", value_parser = timer)]
    pub timer: Option<Regex>,
    /// A shell command to run before each run; {directory} is replaced as in the command.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
}

const EXAMPLES: &str = "\
trib compare runs the program in alternation with the MPI library alone and with our library, which is loaded as by \
trib run: preloaded, or as a component of Open MPI. A ratio is the time of the other library divided by ours: above 1, \
ours is faster.

Examples:
  trib compare -- mpiexec -n 4 ./program input
      measures your program, with and without the library
  trib compare --best --timer 'write time: (\\S+)' -- mpiexec -n 4 ./program -o {directory}/out
      measures also with the best hints of the MPI library, and uses the time that the program prints
  trib compare --file-rate 25MiB --file-latency 300 -- mpiexec -n 4 ./program -o {directory}/out
      measures with files of 25 MiB/s and 300 us, as on a parallel file system";
