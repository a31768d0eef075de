//! The options of `trib capture` and `trib explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::values::amount;

/// Commands on captures (`TRIB_CAPTURE=DIR` makes them).
#[derive(Subcommand)]
pub enum CaptureCommand {
    /// Say what a capture has: the program, the ranks, the calls and what came of them.
    Info(InfoOptions),
    /// Write one call as a list of offset and length for each rank, in the text form of `trib replay list`.
    Export(ExportOptions),
    /// Make one capture of several of the same program: their calls, in the order of time.
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
    /// The call, from 0 on.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub call: usize,
    /// Write where the bytes are in memory, instead of in the file.
    #[arg(long)]
    pub memory: bool,
    /// The file to write; standard output by default.
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
    /// What `darshan-dxt-parser LOG` prints, or PyDarshan's records as JSON (docs/reference/capture.md).
    #[arg(value_name = "FILE")]
    pub log: PathBuf,
    /// The file whose calls are imported, as the log names it; must be given if the log has several.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// What was recorded: calls of MPI-IO (what ranks asked for), or of the file system (what ranks or aggregators did). By
    /// default those of MPI-IO, if the log has them for the file.
    #[arg(long, value_enum, value_name = "MODULE")]
    pub module: Option<TraceModule>,
    /// A pause of up to so many seconds, in which no rank writes, does not end a call.
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
    /// The capture, or a folder: all of its captures are explained as one job.
    #[arg(value_name = "FILE|DIRECTORY")]
    pub capture: PathBuf,
    /// Simulate the largest write on this machine (one of `trib-lab sim machines`, or a machine file): predicted against measured
    /// time, and the one hint that should help most.
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Ranks of a node of the machine; by default those of the capture.
    #[arg(long, value_name = "N", requires = "machine")]
    pub ranks_per_node: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Write one HTML page that needs nothing else.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}
