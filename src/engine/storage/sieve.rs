//! Data sieving: writes or reads a window run by run, or several runs together with the holes between them.

use std::ops::Range;

use crate::access::Extent;
use crate::drivers::Window;
use crate::engine::policy::{FEW_RUNS, LOCAL_CALL, REMOTE_CALL};
use crate::engine::storage::buffer::{PieceOfWindow, WindowBuffer};
use crate::engine::storage::coverage::Coverage;
use crate::engine::storage::{Storage, StorageFailure, read_all, write_all, write_all_pieces};
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

/// Runs that lie close together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunGroup {
    /// Number of runs.
    pub runs: u64,
    /// Number of bytes of the runs.
    pub covered: u64,
    /// Number of bytes from the first run to the end of the last, with the gaps.
    pub whole: u64,
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
    pub fn writes_whole(&self, group: &RunGroup) -> bool {
        let RunGroup { runs, covered, whole } = *group;
        match self.switch {
            Switch::Enable => runs > 1,
            Switch::Disable => false,
            Switch::Automatic => runs > FEW_RUNS && whole + (whole - covered) <= runs.saturating_mul(self.call),
        }
    }

    /// Returns true if a group may be written run by run after all, because its gaps cannot be read: the file may only
    /// be written.
    pub fn forgives(&self, failure: &StorageFailure) -> bool {
        self.switch == Switch::Automatic && failure.cause.raw_os_error() == Some(libc::EBADF)
    }
}

/// Writes the bytes of a window that have data. Holes are rewritten only with the bytes that were there before, which
/// are read in one call a group, never behind the last byte with data, so the file does not grow by them. Adds the
/// number of bytes with data that were written to `written`, also after a failure.
pub fn write_window(
    storage: &dyn Storage,
    window: Window,
    buffer: &mut WindowBuffer,
    sieve: Sieve,
    written: &mut u64,
) -> Result<(), StorageFailure> {
    if !buffer.pieces.is_empty() {
        return write_pieces(storage, window, &buffer.pieces, written);
    }
    let mut at = 0;
    for extent in window.segments() {
        let segment = Segment { extent, at };
        let mut from = at;
        while let Some((part, group)) = segment.group(&buffer.coverage, from, sieve.bridge()) {
            segment.write(storage, buffer, &part, &group, sieve, written)?;
            from = part.end;
        }
        at += extent.len;
    }
    Ok(())
}

/// Writes a window from its pieces, which fill it.
fn write_pieces(
    storage: &dyn Storage,
    window: Window,
    mut pieces: &[PieceOfWindow],
    written: &mut u64,
) -> Result<(), StorageFailure> {
    let mut end = 0;
    for extent in window.segments() {
        end += extent.len;
        let (here, behind) = pieces.split_at(pieces.partition_point(|piece| piece.position < end));
        write_all_pieces(storage, here, extent.offset, written)?;
        pieces = behind;
    }
    Ok(())
}

/// Reads the bytes of a window that ranks want, and small gaps between them. Bytes behind the end of the file are
/// zeros.
pub fn read_window(
    storage: &dyn Storage,
    window: Window,
    buffer: &mut WindowBuffer,
    sieve: Sieve,
) -> Result<(), StorageFailure> {
    let mut at = 0;
    for extent in window.segments() {
        let segment = Segment { extent, at };
        let mut from = at;
        while let Some((part, _)) = segment.group(&buffer.coverage, from, sieve.bridge()) {
            let bytes = &mut buffer.bytes[part.start as usize..part.end as usize];
            read_all(storage, bytes, segment.offset(part.start))?;
            from = part.end;
        }
        at += extent.len;
    }
    Ok(())
}

/// A contiguous part of a window in the file, and its offset in the window's buffer.
struct Segment {
    extent: Extent,
    at: u64,
}

impl Segment {
    /// Returns the offset in the file of a position in the buffer.
    fn offset(&self, position: u64) -> u64 {
        self.extent.offset + (position - self.at)
    }

    /// Returns the first group of runs at or behind `from` with gaps of at most `bridge` bytes, and its range in the
    /// buffer.
    fn group(&self, coverage: &Coverage, from: u64, bridge: u64) -> Option<(Range<u64>, RunGroup)> {
        let mut runs = coverage.runs(from, self.at + self.extent.len);
        let mut part = runs.next()?;
        let mut group = RunGroup { runs: 1, covered: part.end - part.start, whole: 0 };
        for run in runs {
            if run.start - part.end > bridge {
                break;
            }
            group.runs += 1;
            group.covered += run.end - run.start;
            part.end = run.end;
        }
        group.whole = part.end - part.start;
        Some((part, group))
    }

    fn write(
        &self,
        storage: &dyn Storage,
        buffer: &mut WindowBuffer,
        part: &Range<u64>,
        group: &RunGroup,
        sieve: Sieve,
        written: &mut u64,
    ) -> Result<(), StorageFailure> {
        let whole = group.runs == 1 || sieve.writes_whole(group) && self.fill_holes(storage, buffer, part, sieve)?;
        if !whole {
            for run in buffer.coverage.runs(part.start, part.end) {
                let bytes = &buffer.bytes[run.start as usize..run.end as usize];
                write_all(storage, bytes, self.offset(run.start), written)?;
            }
            return Ok(());
        }
        let bytes = &buffer.bytes[part.start as usize..part.end as usize];
        let mut all = 0;
        let outcome = write_all(storage, bytes, self.offset(part.start), &mut all);
        *written += if outcome.is_ok() { group.covered } else { all.min(group.covered) };
        outcome
    }

    /// Reads all holes in one call, and copies their bytes into the buffer. Returns false for a file that may be
    /// written and not read.
    fn fill_holes(
        &self,
        storage: &dyn Storage,
        buffer: &mut WindowBuffer,
        part: &Range<u64>,
        sieve: Sieve,
    ) -> Result<bool, StorageFailure> {
        let WindowBuffer { bytes, coverage, .. } = buffer;
        let mut runs = coverage.runs(part.start, part.end);
        let Some(from) = runs.next().map(|run| run.end) else { return Ok(true) };
        let no_memory = |cause| StorageFailure { operation: "read", offset: Some(self.offset(from)), cause };
        let mut there = Block::take((part.end - from) as usize).map_err(no_memory)?;
        there.set_len((part.end - from) as usize);
        match read_all(storage, &mut there, self.offset(from)) {
            Err(failure) if sieve.forgives(&failure) => return Ok(false),
            outcome => outcome?,
        };
        let mut start = from;
        for run in runs {
            let hole = &there[(start - from) as usize..(run.start - from) as usize];
            bytes[start as usize..run.start as usize].copy_from_slice(hole);
            start = run.end;
        }
        Ok(true)
    }
}
