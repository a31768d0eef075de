//! The options of `trib capture` and `trib explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::values::amount;

/// Commands on captures (`TRIB_CAPTURE=DIR` makes them).
#[derive(Subcommand)]
pub enum CaptureCommand {
    /// Print what a capture contains: the program, the ranks, the calls and their results.
    Info(InfoOptions),
    /// Write one call as a list of offset and length for each rank, in the text form of `trib replay list`.
    Export(ExportOptions),
    /// Merge several captures of one program into one, with all calls in the order of time.
    Merge(MergeOptions),
    /// Make a capture of a file that Darshan's extended tracing (DXT) recorded.
    Import(ImportOptions),
}

/// Options of `trib capture info`.
#[derive(Args)]
pub struct InfoOptions {
    /// The capture.
    #[arg(value_name = "FILE")]
    pub capture: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib capture export`.
#[derive(Args)]
pub struct ExportOptions {
    /// The capture.
    #[arg(value_name = "FILE")]
    pub capture: PathBuf,
    /// Number of the call, from 0.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub call: usize,
    /// Write the offsets in memory instead of the offsets in the file.
    #[arg(long)]
    pub memory: bool,
    /// The file to write. Default: standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `trib capture merge`.
#[derive(Args)]
pub struct MergeOptions {
    /// The captures.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub captures: Vec<PathBuf>,
    /// The capture to write.
    #[arg(long, value_name = "FILE", required = true)]
    pub output: PathBuf,
}

/// Options of `trib capture import`.
#[derive(Args)]
pub struct ImportOptions {
    /// Output of `darshan-dxt-parser LOG`, or records of PyDarshan as JSON (docs/reference/capture.md).
    #[arg(value_name = "FILE")]
    pub log: PathBuf,
    /// Import the calls on this file, named as in the log; required if the log has several files.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// Import calls of MPI-IO (the requests of ranks), or of the file system (the accesses of ranks or aggregators). Default:
    /// calls of MPI-IO, if the log has them for the file.
    #[arg(long, value_enum, value_name = "MODULE")]
    pub module: Option<TraceModule>,
    /// Maximum pause inside a call, in seconds: a longer time without a write of any rank ends the call.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = amount)]
    pub gap: f64,
    /// The capture to write.
    #[arg(long, value_name = "FILE", required = true)]
    pub output: PathBuf,
}

/// A module of Darshan's extended tracing.
#[derive(Clone, Copy, ValueEnum)]
pub enum TraceModule {
    /// DXT_MPIIO.
    Mpiio,
    /// DXT_POSIX.
    Posix,
}

/// Options of `trib explain`.
#[derive(Args)]
pub struct ExplainOptions {
    /// The capture, or a directory: explains all captures in it as one job.
    #[arg(value_name = "FILE|DIRECTORY")]
    pub capture: PathBuf,
    /// Simulate the largest write on this machine (a name of `trib-lab sim machines`, or a machine file): compare predicted and
    /// measured time, and name the one hint that should help most.
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Number of ranks per node of the machine. Default: as in the capture.
    #[arg(long, value_name = "N", requires = "machine")]
    pub ranks_per_node: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Write one HTML page that needs no other files.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}
