//! Options of `trib capture` and `trib explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Commands on captures (`TRIB_CAPTURE=DIR` makes them).
#[derive(Subcommand)]
pub enum CaptureCommand {
    /// Print what a capture contains: the program, the ranks, the calls and their results.
    Info(InfoOptions),
    /// Write one call as a list of offset and length for each rank, in the text form of `trib replay list`.
    Export(ExportOptions),
    /// Merge several captures of one program into one, with all calls in the order of time.
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

/// Options of `trib explain`.
#[derive(Args)]
pub struct ExplainOptions {
    /// The capture, or a directory: explains all captures of the newest run in it, or in the directories in it, as one job.
    #[arg(value_name = "FILE|DIRECTORY")]
    pub capture: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Measure the file system for estimates: writes 40 MiB to a new file in this directory, and removes it.
    #[arg(long, value_name = "DIRECTORY")]
    pub measure: Option<PathBuf>,
    /// Write one HTML page that needs no other files.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}
