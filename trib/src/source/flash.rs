//! Pattern `flash`: the three files of FLASH-IO.

use clap::{Args, ValueEnum};
use tributary_benchmarks::{Flash, FlashFile, FlashOptions};

use super::{Parameters, RANKS, Subject};
use crate::Failure;
use crate::cli::values::{lengths, size};

/// One of the three files that FLASH-IO writes.
#[derive(Clone, Copy, ValueEnum)]
pub enum FlashPart {
    /// 24 unknowns, doubles.
    Checkpoint,
    /// 4 unknowns at the cells' centres, floats.
    PlotCenter,
    /// 4 unknowns at the cells' corners, floats.
    PlotCorner,
}

/// FLASH-IO, adaptive-mesh astrophysics: one large piece per rank and variable
#[derive(Args)]
pub struct Mesh {
    /// Which file: the checkpoint (24 unknowns, doubles) or one of the two plot files (4 unknowns, floats).
    #[arg(long, value_enum, value_name = "FILE", default_value = "checkpoint")]
    part: FlashPart,
    /// Blocks of a rank; ranks 1, 4, 7, ... have one more and ranks 2, 5, 8, ... two (see --even).
    #[arg(long, value_name = "N", default_value_t = 80)]
    blocks: u64,
    /// Cells of a block in each direction: one number, or x, y and z. 16 is the other usual one.
    #[arg(long, value_name = "N|XxYxZ", value_parser = cube, default_value = "8")]
    block_size: [u64; 3],
    /// The same number of blocks on every rank.
    #[arg(long)]
    even: bool,
    /// Bytes that the first variable's place in the file is a multiple of (`nc_var_align_size`).
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1")]
    alignment: u64,
}

/// Parses the size of a block: `8` or `8x8x8`.
fn cube(text: &str) -> Result<[u64; 3], String> {
    let whole =
        || lengths::<3>(text).map_err(|_| "allowed: 1 number, or 3 numbers separated by x, of 1 or more".to_string());
    lengths::<1>(text).map_or_else(|_| whole(), |[side]| Ok([side; 3]))
}

impl Parameters for Mesh {
    const NAME: &'static str = "flash";
    const CODE: &'static str = "\
FLASH, a code for astrophysics on an adaptive mesh, writes a checkpoint and two plot files. All blocks of all ranks are \
numbered in rank order and the slowest dimension of every variable counts blocks, so a rank writes one contiguous piece of \
each of 24 (plot files: 4) unknowns, and of 6 small variables that describe the tree of blocks. Few ranks meet in a window.";
    const ORIGIN: &'static str = "benchmarks/FLASH-IO of PnetCDF (https://github.com/Parallel-NetCDF/PnetCDF)";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "30 p in the checkpoint, 24 p of them unknowns; 10 p in a plot file"),
        (
            "bytes",
            "8 * blocks * nx * ny * nz of an unknown and rank (327,680 at 80 blocks of 8^3); 4 * ... in a plot file",
        ),
        ("metadata fan-in", "ranks of one unknown in an aggregator's stripes or range, and all p where the tree lies"),
        (
            "data fan-in",
            "ceil(window / piece) + 1 at most: 4 or 5 in 1 MiB stripes, 53 in 16 MiB windows at 80 blocks of 8^3",
        ),
    ];
    const EXAMPLE: &'static str = "--ranks 16 --blocks 80 --block-size 8 --part checkpoint --verify";
    const PICTURE: &'static str =
        "--ranks 4 --blocks 2 --block-size 2 --part plot-center --stripe 704 --row 352 --from 2564";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let file = match self.part {
            FlashPart::Checkpoint => FlashFile::Checkpoint,
            FlashPart::PlotCenter => FlashFile::PlotCenter,
            FlashPart::PlotCorner => FlashFile::PlotCorner,
        };
        let Self { blocks, block_size: cells, even, alignment, .. } = *self;
        let options = FlashOptions { file, cells, blocks, uneven: !even, alignment };
        Ok(Subject::file(Flash::new(ranks.unwrap_or(RANKS), options)?))
    }
}
