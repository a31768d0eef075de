//! The options of `trib-lab map`.

use std::path::PathBuf;

use clap::Args;
use trib::cli::values;

/// Options of `trib-lab map`.
#[derive(Args)]
pub struct MapOptions {
    /// Number of ranks.
    #[arg(long, value_name = "P", value_parser = values::ranks)]
    pub ranks: usize,
    /// Number of columns of each rank.
    #[arg(long, default_value_t = 36)]
    pub columns_per_rank: u32,
    /// Number of runs of adjacent columns of each rank.
    #[arg(long, default_value_t = 13)]
    pub groups: u32,
    /// Seed of the permutation of ranks.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
}
