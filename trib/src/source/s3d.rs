//! Pattern `s3d`: the checkpoint of S3D-IO.

use clap::Args;
use tributary_benchmarks::{S3d, S3dOptions};

use super::{Parameters, RANKS, Subject};
use crate::Failure;
use crate::cli::values::lengths;

/// S3D-IO, a combustion checkpoint: 3-D and 4-D arrays of doubles, cut into blocks
#[derive(Args)]
pub struct Checkpoint {
    /// Points along x, y, z; by default 50 a rank in every direction.
    #[arg(long, value_name = "XxYxZ", value_parser = lengths::<3>)]
    points: Option<[u64; 3]>,
    /// Ranks along x, y, z; by default factored from their number.
    #[arg(long, value_name = "XxYxZ", value_parser = lengths::<3>)]
    grid: Option<[u64; 3]>,
    /// One collective call an array instead of one for all four.
    #[arg(long)]
    call_per_array: bool,
}

impl Parameters for Checkpoint {
    const NAME: &'static str = "s3d";
    const CODE: &'static str = "\
A combustion code writes its checkpoint: mass fractions of 11 species and 3 components of velocity (4-D, the fourth \
dimension slowest), pressure and temperature (3-D), all over one grid that is cut into a block a rank, x fastest.";
    const ORIGIN: &'static str = "S3D-IO (https://github.com/wkliao/S3D-IO)";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "16 * y * z * (ranks along x): a row of x for each of the 16 volumes, y and z"),
        ("bytes", "16 * 8 * x * y * z"),
        ("metadata fan-in", "p where stripes are dealt out; the ranks of a range's rows otherwise"),
        ("data fan-in", "the ranks whose rows meet in a window: all of x, and as many of y and z as it spans"),
    ];
    const EXAMPLE: &'static str = "--points 64x64x64 --grid 4x2x2 --verify";
    const PICTURE: &'static str = "--ranks 8 --points 8x4x4 --grid 2x2x2 --row 256 --bytes 3KiB";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let Self { points, grid, call_per_array } = *self;
        Ok(Subject::file(S3d::new(ranks.unwrap_or(RANKS), S3dOptions { points, grid, call_per_array })?))
    }
}
