//! The options of `trib compare`.

use std::path::PathBuf;

use clap::Args;
use regex::Regex;

use super::values::{timer, times};

/// Options of `trib compare`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct CompareOptions {
    /// The library to preload; by default the one beside this program.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// Another library to compare with: a command like yours, of words without quotes. May be repeated.
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub peers: Vec<String>,
    /// Directory for the files; by default /dev/shm (memory), or else $TMPDIR.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Number of measurements of each, in alternation.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = times)]
    pub pairs: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// How the program is measured.
    #[command(flatten)]
    pub program: ProgramOptions,
    /// A program of yours: the launcher with its options, the program and its arguments. {directory} is filled in: a new folder for
    /// each run, in --directory.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How the program is measured.
#[derive(Args)]
pub struct ProgramOptions {
    /// Try hints for the MPI library, and measure with the fastest ones too; on MPICH also without collective I/O. They reach the
    /// program by ROMIO_HINTS and PNETCDF_HINTS.
    #[arg(long)]
    pub best: bool,
    /// What finds the program's own time in its output, in seconds: a regular expression whose first group is a number. Numbers of
    /// several matches are added.
    #[arg(long, value_name = "REGEX", value_parser = timer)]
    pub timer: Option<Regex>,
    /// A shell command before each run; {directory} is filled in.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
}

const EXAMPLES: &str = "\
The program is run in turns by the MPI library alone and with the preload library. A ratio is another library's time
divided by ours, pair by pair: above 1 ours is faster.

Examples:
  trib compare -- mpiexec -n 4 ./program input
      measures a program of yours, with and without the library
  trib compare --best --timer 'write time: (\\S+)' -- mpiexec -n 4 ./program -o {directory}/out
      also with the best hints of the MPI library, by the time that the program prints";
