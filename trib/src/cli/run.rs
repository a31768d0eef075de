//! The options of `trib run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `trib run`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct RunOptions {
    /// Print a report when a file is closed, as a table or as a line of JSON on standard error. With html: capture the
    /// calls, and write a page for each capture when the program has ended.
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, default_missing_value = "table")]
    pub report: Option<ReportForm>,
    /// Hints for all files: key=value, separated by ; (`trib hints` lists them). They override the environment; may be
    /// repeated.
    #[arg(long, alias = "hint", value_name = "HINTS")]
    pub hints: Vec<String>,
    /// Record the collective calls in a new directory of this one, PROGRAM-DATE-JOB. DIR;limit=2G also sets the maximum size of one
    /// capture, 1 GiB by default.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = CAPTURES)]
    pub capture: Option<OsString>,
    /// Capture the calls, and print what took time in the collective calls when the program has ended.
    #[arg(long)]
    pub explain: bool,
    /// Run the program without the library and with it, and print in one line what the library gains. A short program
    /// runs several times, in alternation and without its output, until the ratio is stable: for a maximum of 20 s.
    #[arg(long, conflicts_with_all = ["report", "capture", "explain"])]
    pub compare: bool,
    /// Print the command, and run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The library to preload. Default: the library installed with this program; on Open MPI 4, Open MPI loads that library as a
    /// component, and nothing is preloaded.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// The launcher with its options, the program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Default directory for captures: in the directory of the command, which the ranks' hosts share with it more often
/// than /tmp.
pub const CAPTURES: &str = "captures";

/// Form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// TRIB_REPORT=1
    Table,
    /// TRIB_REPORT=json
    Json,
    /// `trib explain --html` of every capture and, if there are several, of the job
    Html,
}

const EXAMPLES: &str = "\
trib run preloads the library into the ranks, not into the launcher, if it knows the launcher: hydra (MPICH, Intel MPI), \
Open MPI, srun, flux, jsrun, aprun. With any other command it sets LD_PRELOAD for the command itself. Libraries that are in \
LD_PRELOAD already, such as Darshan, stay in front. On Open MPI 4 it sets the folder of the component instead, and preloads \
nothing. trib run ends with the exit code or the signal of the program.

Examples:
  trib run -- mpiexec -n 16 ./program
      runs a program with the library
  trib run --report --hints 'cb_nodes=4' -- srun -n 64 ./program
      prints a table for each file, and sets a hint
  trib run --report html -- mpiexec -n 16 ./program
      writes a page for each file, captures/PROGRAM-DATE/NAME.html; for several files also job.html there
  trib run --dry-run -- srun -n 64 ./program
      prints the command, to use it in a script";
