//! Pattern `btio`: the NPB benchmark BTIO.

use clap::Args;
use tributary_benchmarks::{Btio, BtioClass, BtioOptions};

use super::{Parameters, RANKS, Subject};
use crate::Failure;
use crate::cli::values::positive;

/// NPB BTIO, block-tridiagonal solver: a diagonal multi-partition of a cubic grid, square rank counts
#[derive(Args)]
pub struct Diagonal {
    /// Problem size of NPB: S 12, W 24, A 64, B 102, C 162, D 408 points along each dimension.
    #[arg(long, value_name = "LETTER", value_parser = class, default_value = "A")]
    class: BtioClass,
    /// Points along each dimension, instead of a class.
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "class")]
    grid: Option<u64>,
    /// Writes, each a collective call that appends a record; NPB itself makes 40 in classes A to C.
    #[arg(long, value_name = "N", default_value_t = 5)]
    iterations: usize,
}

/// Parses one of NPB's letters.
fn class(text: &str) -> Result<BtioClass, String> {
    text.parse().map_err(|_| "allowed: S, W, A, B, C, D".to_string())
}

impl Parameters for Diagonal {
    const NAME: &'static str = "btio";
    const CODE: &'static str = "\
The block-tridiagonal solver of the NAS benchmarks writes 5 numbers a point of a cubic grid every few steps. p ranks are a \
square, the grid is cut in q = sqrt(p) parts along each dimension, and a rank owns one cell in each of q layers, on a \
diagonal; so it writes q * N^2 / p lines of 5 N / q doubles a record. Its memory has two ghost points around every cell.";
    const ORIGIN: &'static str = "NPB 2.4, and Parallel-NetCDF/BTIO (https://github.com/Parallel-NetCDF/BTIO)";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "iterations * sqrt(p) * N^2"),
        ("bytes", "iterations * 40 * N^3"),
        ("metadata fan-in", "p: the stripes or the range of an aggregator cut whole layers; fewer for small ranges"),
        ("data fan-in", "about sqrt(p): the ranks of a plane's lines; more in windows of more than a row of cells"),
    ];
    const EXAMPLE: &'static str = "--ranks 16 --class W --iterations 3 --verify";
    const PICTURE: &'static str = "--ranks 4 --grid 6 --iterations 1 --row 480 --stripe 960 --from 512";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let grid = self.grid.unwrap_or_else(|| self.class.grid());
        let options = BtioOptions { grid, iterations: self.iterations };
        Ok(Subject::file(Btio::new(ranks.unwrap_or(RANKS), options)?))
    }
}
