//! The pattern of a 4-D lattice that is divided into blocks over a 4-D grid of ranks, and written in the global order
//! of its sites.
//!
//! Codes of lattice QCD write so (Grid's gauge configurations); MPICH issue 7935 reports it. Every rank's block is
//! one 4-D subarray of the file, x fastest, so a rank writes a row of its x for each of its y, z and t. Runs are a
//! few KB, and on 1,024 ranks collective buffering reached a sixth of the speed of a transposition by hand. The issue
//! gives shapes, not one size; the default site is that of a gauge configuration in double precision: 4 links of 3 x
//! 3 complex numbers.

use std::fs::File;

use tributary::access::BufferLayout;

use crate::blocks::{Blocks, grid, place, times};
use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::meeting::{FileSpan, fan_in};
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;

/// Size of the lattice, and its division among ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block4dOptions {
    /// Number of sites along x, y, z, t; x is fastest in the file. Default 16 x 16 x 16 x 32.
    pub lattice: [u64; 4],
    /// Number of ranks along x, y, z, t. Default: factored from the number of ranks, the longest blocks cut first. If
    /// a size does not divide, the first blocks are longer by one; blocks may be empty.
    pub grid: Option<[u64; 4]>,
    /// Size of a site, in bytes. Default 576.
    pub site: u64,
}

impl Default for Block4dOptions {
    fn default() -> Self {
        Self { lattice: [16, 16, 16, 32], grid: None, site: 576 }
    }
}

/// A 4-D lattice that is written once, in one collective call.
#[derive(Debug, Clone)]
pub struct Block4d {
    ranks: usize,
    grid: [u64; 4],
    blocks: Blocks<4>,
}

impl Block4d {
    /// Creates the lattice on `ranks` ranks; x is the fastest dimension in the order of ranks too.
    ///
    /// # Errors
    /// There are no ranks, the grid does not match them, the lattice is empty, or the file ends beyond 2^63 - 1
    /// bytes.
    pub fn new(ranks: usize, options: Block4dOptions) -> Result<Self, PatternError> {
        let Block4dOptions { lattice, grid: given, site } = options;
        let grid = grid(ranks, given, lattice, false)?;
        let blocks = Blocks::new("lattice", site, lattice, grid, 1)?;
        Ok(Self { ranks, grid, blocks })
    }
}

impl Pattern for Block4d {
    fn name(&self) -> &str {
        "block4d"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        format!(
            "4-D lattice of MPICH issue 7935: {} sites of {} bytes on a grid of {} ranks",
            times(&self.blocks.cuts.map(|cut| cut.size)),
            self.blocks.element,
            times(&self.grid)
        )
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        serial::check(self, rank, step)?;
        let place = place(rank, self.grid);
        let file = self.blocks.extents(0, place)?;
        Ok(RankAccess { file, layout: BufferLayout::Contiguous, requests: self.blocks.block_rows(place) })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        serial::fill_doubles(&self.rank_access(rank, step)?.file, data)
    }

    fn totals(&self) -> Totals {
        let bytes = self.blocks.bytes();
        Totals { requests: self.blocks.rows(), bytes, file_size: bytes }
    }

    fn closed_form(&self, division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        let span = FileSpan { bytes, grain: bytes };
        let met = fan_in(division, span, self.ranks as u64, |bytes, grain| self.blocks.within(0, bytes, grain));
        ClosedForm { requests, bytes, metadata_fan_in: Some(met.metadata), data_fan_in: Some(met.data) }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        serial::write_doubles(file, self.blocks.bytes())
    }
}
