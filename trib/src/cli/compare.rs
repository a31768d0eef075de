//! The options of `trib compare`.

use std::path::PathBuf;

use clap::Args;

/// Options of `trib compare`.
#[derive(Args)]
pub struct CompareOptions {
    /// Directory with the rows that the job scripts of benchmarks/batch wrote: draw the main paper's figures 4 and 5 for
    /// that machine.
    #[arg(long, value_name = "DIR")]
    pub from: PathBuf,
    /// Where the figures and their page go; by default the directory of the rows.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
