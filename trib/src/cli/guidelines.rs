//! Options of `trib guidelines`.

use clap::{Args, ValueEnum};

use super::values::within;
use crate::means::MOST_TIMES;

/// The fewest measurements that a median is taken of.
const FEWEST: u64 = 7;

/// Options of `trib guidelines`.
#[derive(Args)]
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "without MPI there is nothing to measure"))]
pub struct GuidelinesOptions {
    /// The irregular operation; may be given more than once.
    #[arg(long = "op", value_enum, value_name = "OP", default_value = "gatherv")]
    pub operations: Vec<Irregular>,
    /// Block sizes b of the distributions, in bytes.
    #[arg(long, value_name = "B,B,...", value_delimiter = ',', default_value = "4,400,40000", value_parser = block)]
    pub blocks: Vec<u64>,
    /// Measurements of each, 7 or more; medians are shown.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = repetitions)]
    pub repetitions: u64,
    /// By how many per cent more a guideline may be missed before it counts as violated.
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub slack: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// An irregular operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Irregular {
    /// All blocks to the root.
    Gatherv,
    /// To all their blocks, from the root.
    Scatterv,
}

/// MPI counts the bytes of a rank by an `int`.
fn block(text: &str) -> Result<u64, String> {
    within(text, 1, i32::MAX as u64)
}

fn repetitions(text: &str) -> Result<u64, String> {
    within(text, FEWEST, MOST_TIMES)
}
