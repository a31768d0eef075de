//! The trait of all access patterns: pure functions of rank and number of ranks, which describe the rank's writes.

use std::fs::File;

use tributary::access::{BufferLayout, Extents, walk::pieces};

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::netcdf_case::NetcdfCase;

/// One rank's access in one collective call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankAccess {
    /// Extents of the access in the file, in the order of the program's buffer.
    pub file: Extents,
    /// Layout of the access in the rank's buffer.
    pub layout: BufferLayout,
    /// Number of requests of the program. `file` may have fewer extents, if requests adjoin.
    pub requests: u64,
}

impl RankAccess {
    /// Returns the access of a rank without data.
    pub fn nothing() -> Self {
        Self { file: Extents::empty(), layout: BufferLayout::Contiguous, requests: 0 }
    }

    /// Returns the size in bytes of the smallest buffer that holds the layout.
    pub fn buffer_len(&self) -> u64 {
        match &self.layout {
            BufferLayout::Contiguous => self.file.bytes(),
            BufferLayout::Extents(extents) => extents.span().map_or(0, |(_, end)| end),
        }
    }

    /// Returns the rank's buffer: `data` (the bytes of `file` in their order) at the places that the layout lists,
    /// `gap` everywhere else.
    ///
    /// # Errors
    /// `data` has another size than the rank's bytes.
    pub fn scatter(&self, data: &[u8], gap: u8) -> Result<Vec<u8>, PatternError> {
        let bytes = self.file.bytes();
        if data.len() as u64 != bytes {
            return Err(PatternError::argument("buffer", format!("{} bytes", data.len()), format!("{bytes} bytes")));
        }
        self.layout.check(bytes, self.buffer_len() as usize)?;
        let mut buffer = vec![gap; self.buffer_len() as usize];
        let mut rest = data;
        for piece in pieces(&self.file, &self.layout) {
            let (front, behind) = rest.split_at(piece.len as usize);
            buffer[piece.memory as usize..][..front.len()].copy_from_slice(front);
            rest = behind;
        }
        Ok(buffer)
    }
}

/// Requests and bytes of a pattern, added up over all ranks and steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Number of requests.
    pub requests: u64,
    /// Number of bytes written.
    pub bytes: u64,
    /// Size of the file: the offset behind the last byte that is written.
    pub file_size: u64,
}

/// The collective writes of a real or synthetic code to one file. Every function is pure: the same arguments give the
/// same answer on every rank and in every run.
pub trait Pattern: Send + Sync {
    /// Returns a short name, as on a command line.
    fn name(&self) -> &str;

    /// Returns the number of ranks that make the collective calls.
    fn ranks(&self) -> usize;

    /// Returns the source of the pattern and its parameters, in one line.
    fn describe(&self) -> String;

    /// Returns the number of collective calls, one after the other, on the same file: records, time steps,
    /// iterations.
    fn steps(&self) -> usize {
        1
    }

    /// Returns the access of `rank` in call `step`. Costs O(the rank's own requests), not O(all ranks' requests).
    ///
    /// # Errors
    /// The rank or step is out of range, or an extent ends beyond 2^63 - 1.
    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError>;

    /// Fills `data` with the bytes of [`RankAccess::file`] of `rank` and `step`, in their order, without any gaps of
    /// the buffer's layout (see [`RankAccess::scatter`]).
    ///
    /// # Errors
    /// The rank or step is out of range, or `data` has another size than the rank's bytes.
    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError>;

    /// Returns true if ranks may write the same bytes. The highest rank's bytes are then in the file
    /// (`trib_overlap=rank_order`).
    fn overlaps(&self) -> bool {
        false
    }

    /// Fills `data` with the bytes that a read of the same access returns after all ranks have written. They differ
    /// from the bytes of [`Pattern::fill`] only where ranks overlap.
    ///
    /// # Errors
    /// The errors of [`Pattern::fill`].
    fn fill_as_read(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.fill(rank, step, data)
    }

    /// Returns the sums over all ranks and steps, without expanding any rank's requests.
    fn totals(&self) -> Totals;

    /// Returns the closed forms of the pattern for this division of the file, computed without any rank's extents.
    fn closed_form(&self, division: Division) -> ClosedForm;

    /// Writes the whole file in one process, element by element from the pattern's definition. Collective writes are compared
    /// with this reference, which shares neither extents nor merging with [`Pattern::rank_access`].
    ///
    /// # Errors
    /// The errors of the operating system.
    fn write_serially(&self, file: &File) -> Result<(), PatternError>;

    /// Returns the pattern as a NetCDF file, if it is one: its offsets are then those of the file's layout.
    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        None
    }
}
