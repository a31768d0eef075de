//! Pattern `block4d`: a lattice that is divided into blocks.

use clap::Args;
use tributary_benchmarks::{Block4d, Block4dOptions};

use super::{Parameters, RANKS, Subject};
use crate::Failure;
use crate::cli::values::{lengths, size};

/// A 4-D lattice (quantum chromodynamics), block-decomposed over a 4-D grid of ranks
#[derive(Args)]
pub struct Lattice {
    /// Sites along x, y, z, t; x is fastest in the file.
    #[arg(long, value_name = "XxYxZxT", value_parser = lengths::<4>, default_value = "16x16x16x32")]
    lattice: [u64; 4],
    /// Ranks along x, y, z, t; by default factored from their number, the longest blocks cut first.
    #[arg(long, value_name = "XxYxZxT", value_parser = lengths::<4>)]
    grid: Option<[u64; 4]>,
    /// Bytes of a site: 4 links of 3 x 3 complex doubles.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "576")]
    site: u64,
}

impl Parameters for Lattice {
    const NAME: &'static str = "block4d";
    const CODE: &'static str = "\
A gauge configuration of lattice quantum chromodynamics, written in the global order of its sites: every rank's block is \
one 4-D subarray, so it writes a row of its x for each of its y, z and t, a few KB each.";
    const ORIGIN: &'static str =
        "MPICH issue 7935 (https://github.com/pmodels/mpich/issues/7935), from the Grid library";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "y * z * t * (ranks along x); rows that adjoin are counted as rows where x is not cut"),
        ("bytes", "site * x * y * z * t"),
        ("metadata fan-in", "p where stripes are dealt out; the ranks of a range's rows otherwise"),
        ("data fan-in", "the ranks whose rows meet in a window: all of x, and as many of y, z and t as it spans"),
    ];
    const EXAMPLE: &'static str = "--lattice 16x16x16x32 --ranks 16 --verify";
    const PICTURE: &'static str = "--ranks 8 --lattice 8x4x2x2 --grid 2x2x2x1 --site 8 --row 128 --stripe 256";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let Self { lattice, grid, site } = *self;
        Ok(Subject::file(Block4d::new(ranks.unwrap_or(RANKS), Block4dOptions { lattice, grid, site })?))
    }
}
