//! The options of `trib capture` and `trib explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands on captures (`TRIB_CAPTURE=DIR` makes them).
#[derive(Subcommand)]
pub enum CaptureCommand {
    /// Say what a capture has: the program, the ranks, the calls and what came of them.
    Info(InfoOptions),
    /// Write one call as a list of offset and length for each rank, in the text form of `trib replay list`.
    Export(ExportOptions),
    /// Make one capture of several of the same program: their calls, in the order of time.
    Merge(MergeOptions),
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

/// Options of `trib explain`.
#[derive(Args)]
pub struct ExplainOptions {
    /// The capture, or a folder: all of its captures are explained as one job.
    #[arg(value_name = "FILE|DIRECTORY")]
    pub capture: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Write one HTML page that needs nothing else.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}
