//! The options of `trib-lab explain`.

use std::path::PathBuf;

use clap::Args;

/// Options of `trib-lab explain`.
#[derive(Args)]
pub struct ExplainOptions {
    /// The capture.
    #[arg(value_name = "FILE")]
    pub capture: PathBuf,
    /// The machine: one of `trib-lab sim machines`, or a machine file.
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: String,
    /// Number of ranks per node of the machine. Default: as in the capture.
    #[arg(long, value_name = "N")]
    pub ranks_per_node: Option<usize>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}
