//! The pattern of S3D-IO: the checkpoint of a combustion code, four arrays of doubles over one 3-D grid that is cut
//! into blocks.
//!
//! Mass fractions of 11 species and the 3 components of velocity are 4-D arrays (the fourth dimension is slowest and
//! not cut), pressure and temperature are 3-D; in that order, x fastest, as in Fortran. The file is raw: the arrays
//! one behind the other, without the header of the benchmark's NetCDF file. The benchmark's non-blocking method
//! flushes the four arrays of a checkpoint in one collective call, its blocking method makes one call for each array;
//! every checkpoint is a new file. Source: wkliao/S3D-IO (README; `pnetcdf_write`; `initialize_topology` for the
//! ranks' order; `initialize_param` for sizes).

use std::fs::File;

use tributary::access::{BufferLayout, Extents};

use crate::blocks::{Blocks, grid, place, times};
use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::meeting::{FileSpan, fan_in};
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;

/// Names of the arrays in file order, and the length of their fourth dimension.
pub const ARRAYS: [(&str, u64); 4] = [("yspecies", 11), ("u", 3), ("pressure", 1), ("temp", 1)];
/// Number of 3-D arrays in a checkpoint.
const VOLUMES: u64 = 16;
/// Number of points of a rank in every direction in the benchmark's example, 800 on 16 ranks.
const POINTS: u64 = 50;

/// Size of the grid, and its division among ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct S3dOptions {
    /// Number of points along x, y, z, which the numbers of ranks along them must divide. Default: 50 a rank, as in
    /// the benchmark's example run.
    pub points: Option<[u64; 3]>,
    /// Number of ranks along x, y, z. Default: factored from the number of ranks so that they divide the points.
    pub grid: Option<[u64; 3]>,
    /// True for one collective call for each array (the blocking method) instead of one for all four. Default false.
    pub call_per_array: bool,
}

/// One checkpoint of S3D-IO as a pattern.
#[derive(Debug, Clone)]
pub struct S3d {
    ranks: usize,
    grid: [u64; 3],
    blocks: Blocks<3>,
    call_per_array: bool,
}

impl S3d {
    /// Creates the checkpoint on `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks, the grid does not match them or does not divide the points, or the file ends beyond 2^63 -
    /// 1 bytes.
    pub fn new(ranks: usize, options: S3dOptions) -> Result<Self, PatternError> {
        let grid = grid(ranks, options.grid, options.points.unwrap_or([ranks as u64; 3]), true)?;
        let points = options.points.unwrap_or(grid.map(|parts| parts.saturating_mul(POINTS)));
        if (0..3).any(|d| !points[d].is_multiple_of(grid[d])) {
            let allowed = format!("numbers that the process grid {} divides", times(&grid));
            return Err(PatternError::argument("points", times(&points), allowed));
        }
        let blocks = Blocks::new("points", 8, points, grid, VOLUMES)?;
        Ok(Self { ranks, grid, blocks, call_per_array: options.call_per_array })
    }

    /// Returns the number of the first 3-D array of a call, and how many there are.
    fn volumes(&self, step: usize) -> (u64, u64) {
        match self.call_per_array {
            true => (ARRAYS[..step].iter().map(|array| array.1).sum(), ARRAYS[step].1),
            false => (0, VOLUMES),
        }
    }
}

impl Pattern for S3d {
    fn name(&self) -> &str {
        "s3d"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        format!(
            "S3D-IO checkpoint: 11 mass fractions, velocity, pressure, temperature on {} points, {} ranks, {}",
            times(&self.blocks.cuts.map(|cut| cut.size)),
            times(&self.grid),
            if self.call_per_array { "a call an array" } else { "one call" }
        )
    }

    fn steps(&self) -> usize {
        if self.call_per_array { ARRAYS.len() } else { 1 }
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        serial::check(self, rank, step)?;
        let (first, count) = self.volumes(step);
        let place = place(rank, self.grid);
        let volume = self.blocks.bytes();
        let one = self.blocks.extents(first * volume, place)?;
        // Below 2^63, as the whole file is.
        let file: Extents = one.repeat(volume as i64, count)?;
        Ok(RankAccess { file, layout: BufferLayout::Contiguous, requests: count * self.blocks.block_rows(place) })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        serial::fill_doubles(&self.rank_access(rank, step)?.file, data)
    }

    fn totals(&self) -> Totals {
        let bytes = VOLUMES * self.blocks.bytes();
        Totals { requests: VOLUMES * self.blocks.rows(), bytes, file_size: bytes }
    }

    fn closed_form(&self, division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        let ranks = self.ranks as u64;
        let calls = (0..self.steps()).map(|step| {
            let volume = self.blocks.bytes();
            let span = FileSpan { bytes: self.volumes(step).1 * volume, grain: volume };
            fan_in(division, span, ranks, |bytes, grain| self.blocks.within(0, bytes, grain))
        });
        let (metadata, data) = calls.fold((0, 0), |most, met| (met.metadata.max(most.0), met.data.max(most.1)));
        ClosedForm { requests, bytes, metadata_fan_in: Some(metadata), data_fan_in: Some(data) }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        serial::write_doubles(file, VOLUMES * self.blocks.bytes())
    }
}
