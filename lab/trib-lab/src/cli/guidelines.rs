//! Options of `trib-lab guidelines`.

use clap::{Args, ValueEnum};
use trib::cli::values::within;
use trib::limits::MOST_TIMES;

/// Minimum number of measurements for a median.
const FEWEST: u64 = 7;

/// Options of `trib-lab guidelines`.
#[derive(Args)]
pub struct GuidelinesOptions {
    /// The irregular operation; may be repeated.
    #[arg(long = "op", value_enum, value_name = "OP", default_value = "gatherv")]
    pub operations: Vec<Irregular>,
    /// Block sizes b of the distributions in bytes.
    #[arg(long, value_name = "B,B,...", value_delimiter = ',', default_value = "4,400,40000", value_parser = block)]
    pub blocks: Vec<u64>,
    /// Number of measurements of each, 7 or more; medians are shown.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = repetitions)]
    pub repetitions: u64,
    /// Tolerance in per cent: a guideline counts as violated if the time exceeds it by more.
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub slack: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// An irregular operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Irregular {
    /// Every rank's block goes to the root.
    Gatherv,
    /// Every rank gets its block from the root.
    Scatterv,
}

/// Returns a block size: MPI counts a rank's bytes with an `int`.
fn block(text: &str) -> Result<u64, String> {
    within(text, 1, i32::MAX as u64)
}

fn repetitions(text: &str) -> Result<u64, String> {
    within(text, FEWEST, MOST_TIMES)
}
