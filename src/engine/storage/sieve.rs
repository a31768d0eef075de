//! Data sieving: writes or reads a window run by run, or several runs together with the holes between them.
//!
//! A window in an aggregator's memory and a window that ranks share are written by the same code: see [`Segment`].

use std::ops::Range;

use crate::engine::policy::{FEW_RUNS, LOCAL_CALL, REMOTE_CALL};
use crate::engine::storage::present::Present;
use crate::engine::storage::{Storage, StorageFailure, read_all, write_all};
use crate::fabric::pool::Block;
use crate::hints::Switch;

/// Decides what to do about gaps between runs of bytes, by the hint `romio_ds_write` or `romio_ds_read` and by the cost
/// of a call.
#[derive(Debug, Clone, Copy)]
pub struct Sieve {
    switch: Switch,
    /// Cost of a call on the file: the number of bytes that could be copied meanwhile.
    call: u64,
    bridge: u64,
}

impl Sieve {
    /// Returns the sieve for a file system that locks `unit` bytes together.
    pub fn new(switch: Switch, unit: u64) -> Self {
        let call = if unit == 1 { LOCAL_CALL } else { REMOTE_CALL };
        let bridge = match switch {
            Switch::Enable => u64::MAX,
            Switch::Disable => 0,
            Switch::Automatic => call,
        };
        Self { switch, call, bridge }
    }

    /// Returns the sieve of a write. Unless `is_sole` is true, others may write the file meanwhile: bytes that they
    /// write in a gap must not be overwritten, so the write has only the runs.
    pub fn of_write(switch: Switch, unit: u64, is_sole: bool) -> Self {
        Self::new(if is_sole { switch } else { Switch::Disable }, unit)
    }

    /// Returns this sieve without gaps of `gap` bytes or more: others may write there.
    pub fn within(self, gap: u64) -> Self {
        Self { bridge: self.bridge.min(gap - 1), ..self }
    }

    /// Returns the maximum gap within a group in bytes. A read reads such a gap too, because that costs less than
    /// another call.
    pub fn bridge(&self) -> u64 {
        self.bridge
    }

    /// Returns true if a group is written as a whole, after the bytes in its gaps have been read; otherwise it is
    /// written run by run. Reading the whole and writing the gaps pays if it costs less than a call for each run.
    fn writes_whole(&self, group: &RunGroup) -> bool {
        let (runs, covered, whole) = (group.runs, group.covered, group.range.end - group.range.start);
        match self.switch {
            Switch::Enable => runs > 1,
            Switch::Disable => false,
            Switch::Automatic => runs > FEW_RUNS && whole + (whole - covered) <= runs.saturating_mul(self.call),
        }
    }

    /// Returns true if a group may be written run by run after all, because its gaps cannot be read: the file may only
    /// be written.
    fn forgives(&self, failure: &StorageFailure) -> bool {
        self.switch == Switch::Automatic && failure.cause.raw_os_error() == Some(libc::EBADF)
    }
}

/// Runs of bytes that are present and lie close together.
struct RunGroup {
    /// Number of runs.
    runs: u64,
    /// Number of bytes of the runs.
    covered: u64,
    /// Positions from the first run to the end of the last, with the gaps.
    range: Range<u64>,
    /// Positions from the end of the first run to the start of the last: all gaps lie there.
    gaps: Range<u64>,
}

impl RunGroup {
    /// Takes the next runs with gaps of at most `bridge` bytes.
    fn take(runs: &mut std::iter::Peekable<impl Iterator<Item = Range<u64>>>, bridge: u64) -> Option<Self> {
        let range = runs.next()?;
        let mut group = Self { runs: 1, covered: range.end - range.start, gaps: range.end..range.end, range };
        while let Some(run) = runs.next_if(|run| run.start - group.range.end <= bridge) {
            group.runs += 1;
            group.covered += run.end - run.start;
            group.gaps.end = run.start;
            group.range.end = run.end;
        }
        Some(group)
    }
}

/// A part of a window that is contiguous in the file and in memory, and the map of its bytes that are present.
pub struct Segment<'a, P: ?Sized> {
    /// Offset in the file.
    pub offset: u64,
    /// Memory of the part.
    pub bytes: &'a mut [u8],
    /// The map of the bytes that are present.
    pub present: &'a P,
    /// Position of the first byte of the part in the map.
    pub first: u64,
}

impl<P: Present + ?Sized> Segment<'_, P> {
    /// Writes the bytes that are present. Holes are rewritten only with the bytes that were there before, which are
    /// read in one call a group, never behind the last byte that is present, so the file does not grow by them. Adds the
    /// number of present bytes that were written to `written`, also after a failure.
    pub fn write(&mut self, storage: &dyn Storage, sieve: Sieve, written: &mut u64) -> Result<(), StorageFailure> {
        let present = self.present;
        let mut runs = present.runs(self.positions()).peekable();
        while let Some(group) = RunGroup::take(&mut runs, sieve.bridge) {
            if group.runs == 1 || sieve.writes_whole(&group) && self.fill_holes(storage, &group, sieve)? {
                let mut all = 0;
                let outcome = self.write_range(storage, &group.range, &mut all);
                *written += if outcome.is_ok() { group.covered } else { all.min(group.covered) };
                outcome?;
                continue;
            }
            for run in present.runs(group.range) {
                self.write_range(storage, &run, written)?;
            }
        }
        Ok(())
    }

    fn write_range(&self, storage: &dyn Storage, range: &Range<u64>, written: &mut u64) -> Result<(), StorageFailure> {
        write_all(storage, &self.bytes[self.indices(range)], self.offset(range.start), written)
    }

    /// Reads the bytes whose positions are marked in the map, and gaps between them that cost less than another call.
    /// Bytes behind the end of the file are zeros.
    pub fn read(&mut self, storage: &dyn Storage, sieve: Sieve) -> Result<(), StorageFailure> {
        let mut runs = self.present.runs(self.positions()).peekable();
        while let Some(RunGroup { range, .. }) = RunGroup::take(&mut runs, sieve.bridge) {
            let (indices, offset) = (self.indices(&range), self.offset(range.start));
            read_all(storage, &mut self.bytes[indices], offset)?;
        }
        Ok(())
    }

    /// Reads all holes of a group in one call, and copies their bytes into the memory. Returns false for a file that may
    /// be written and not read.
    fn fill_holes(&mut self, storage: &dyn Storage, group: &RunGroup, sieve: Sieve) -> Result<bool, StorageFailure> {
        let Range { mut start, end } = group.gaps;
        let (len, from, offset) = ((end - start) as usize, start, self.offset(start));
        let no_memory = |cause| StorageFailure { operation: "read", offset: Some(offset), cause };
        let mut there = Block::take(len).map_err(no_memory)?;
        there.set_len(len);
        match read_all(storage, &mut there, offset) {
            Err(failure) if sieve.forgives(&failure) => return Ok(false),
            outcome => outcome?,
        };
        for run in self.present.runs(start..group.range.end) {
            let hole = &there[(start - from) as usize..(run.start - from) as usize];
            let indices = self.indices(&(start..run.start));
            self.bytes[indices].copy_from_slice(hole);
            start = run.end;
        }
        Ok(true)
    }

    /// Positions of the part in the map.
    fn positions(&self) -> Range<u64> {
        self.first..self.first + self.bytes.len() as u64
    }

    /// Returns the offset in the file of a position in the map.
    fn offset(&self, position: u64) -> u64 {
        self.offset + (position - self.first)
    }

    /// Returns the indices in the memory of positions in the map.
    fn indices(&self, positions: &Range<u64>) -> Range<usize> {
        (positions.start - self.first) as usize..(positions.end - self.first) as usize
    }
}
