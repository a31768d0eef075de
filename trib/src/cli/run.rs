//! The options of `trib run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `trib run`.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct RunOptions {
    /// Report on each file when it is closed: as a table or a line of JSON on standard error; or, when the program has ended, as a
    /// page of HTML beside a capture of its calls.
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, default_missing_value = "table")]
    pub report: Option<ReportForm>,
    /// Hints for all files, over those of the environment: key=value, separated by ; (`trib hints` lists them); may be repeated.
    #[arg(long, alias = "hint", value_name = "HINTS")]
    pub hints: Vec<String>,
    /// Record the collective calls in this directory.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = CAPTURES)]
    pub capture: Option<PathBuf>,
    /// Say in words, when the program has ended, where the time of its collective calls went; from a capture.
    #[arg(long)]
    pub explain: bool,
    /// Run the program without the library and with it, and say in a line what the library gains. A short program runs again, in turns
    /// and without its output, until the ratio stands: for 20 s at most.
    #[arg(long, conflicts_with_all = ["report", "capture", "explain"])]
    pub compare: bool,
    /// Print the command that would be run, and run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The library to preload; by default the one beside this program.
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// The launcher with its options, the program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Where captures are by default: in the directory of the command, which the ranks' hosts share with it more often than /tmp.
pub const CAPTURES: &str = "captures";

/// What is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportForm {
    /// TRIB_REPORT=1
    Table,
    /// TRIB_REPORT=json
    Json,
    /// `trib explain --html` of every capture and, where there are several, of the job
    Html,
}

const EXAMPLES: &str = "\
The library is preloaded into the ranks, not into the launcher: hydra (MPICH, Intel MPI), Open MPI, srun, flux, jsrun and aprun are \
known; behind any other command it is in the environment. What LD_PRELOAD has already, such as Darshan, stays in front. The command ends \
as the program does: with its exit code, or by its signal.

Examples:
  trib run -- mpiexec -n 16 ./program
      runs a program on the library
  trib run --report --hints 'cb_nodes=4' -- srun -n 64 ./program
      with a table for each file, and a hint
  trib run --report html -- mpiexec -n 16 ./program
      and a page for each file: captures/NAME.html; of several files also captures/job.html
  trib run --dry-run -- srun -n 64 ./program
      prints the command, for a script of yours";
