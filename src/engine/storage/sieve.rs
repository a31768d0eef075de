//! How the bytes of a window get into the file and out of it: whole, run by run, or with the holes between them.

use crate::access::Extent;
use crate::drivers::Window;
use crate::engine::data::buffer::WindowBuffer;
use crate::engine::data::coverage::Coverage;
use crate::engine::storage::{Failure, Storage, read_all, write_all};
use crate::hints::Switch;

/// With this mean length or more, the covered runs of a window with holes are written one by one.
const LONG_RUN: u64 = 256 << 10;
/// With so few runs likewise.
const FEW_RUNS: u64 = 4;

/// Writes the covered bytes of a window, and no others but those that were in the holes before. Holes are read in one call
/// a segment, and never beyond what is covered, so the file does not grow by them. `written` counts covered bytes that got
/// there, also when it fails.
pub fn write_window(
    storage: &dyn Storage,
    window: Window,
    buffer: &mut WindowBuffer,
    sieve: Switch,
    written: &mut u64,
) -> Result<(), Failure> {
    let mut at = 0;
    for extent in window.segments() {
        let segment = Segment { extent, at };
        let facts = segment.facts(&buffer.coverage);
        if facts.count > 0 {
            segment.write(storage, buffer, &facts, sieve, written)?;
        }
        at += extent.len;
    }
    Ok(())
}

/// Parts that are wanted and lie closer together than this are read in one call: a call costs about what so many bytes do.
const BRIDGE: u64 = 256 << 10;

/// The widest gap that reading goes over rather than stop and start again.
pub fn bridge(sieve: Switch) -> u64 {
    match sieve {
        Switch::Enable => u64::MAX,
        Switch::Disable => 0,
        Switch::Automatic => BRIDGE,
    }
}

/// Reads the covered bytes of a window, and what lies in the gaps that it goes over. Beyond the end of the file are zeros.
pub fn read_window(
    storage: &dyn Storage,
    window: Window,
    buffer: &mut WindowBuffer,
    sieve: Switch,
) -> Result<(), Failure> {
    let mut at = 0;
    for extent in window.segments() {
        let segment = Segment { extent, at };
        segment.read(storage, buffer, bridge(sieve))?;
        at += extent.len;
    }
    Ok(())
}

/// A contiguous part of the file, and where it begins in the buffer.
struct Segment {
    extent: Extent,
    at: u64,
}

/// What of a segment is covered.
#[derive(Default)]
struct Facts {
    /// Runs of covered bytes.
    count: u64,
    /// Covered bytes.
    covered: u64,
    /// The first covered byte and the end of the last, in the buffer.
    first: u64,
    last: u64,
}

impl Segment {
    fn end(&self) -> u64 {
        self.at + self.extent.len
    }

    /// The place in the file of a place in the buffer.
    fn offset(&self, position: u64) -> u64 {
        self.extent.offset + (position - self.at)
    }

    fn facts(&self, coverage: &Coverage) -> Facts {
        if coverage.is_full() {
            return Facts { count: 1, covered: self.extent.len, first: self.at, last: self.end() };
        }
        coverage.runs(self.at, self.end()).fold(Facts::default(), |facts, run| Facts {
            count: facts.count + 1,
            covered: facts.covered + (run.end - run.start),
            first: if facts.count == 0 { run.start } else { facts.first },
            last: run.end,
        })
    }

    fn write(
        &self,
        storage: &dyn Storage,
        buffer: &mut WindowBuffer,
        facts: &Facts,
        sieve: Switch,
        written: &mut u64,
    ) -> Result<(), Failure> {
        let apart = match sieve {
            Switch::Enable => false,
            Switch::Disable => true,
            Switch::Automatic => facts.count <= FEW_RUNS || facts.covered / facts.count >= LONG_RUN,
        };
        if facts.count == 1 {
            let bytes = &buffer.bytes[facts.first as usize..facts.last as usize];
            return write_all(storage, bytes, self.offset(facts.first), written);
        }
        if apart {
            return self.write_apart(storage, buffer, written);
        }
        match self.fill_holes(storage, buffer, facts) {
            // A file that may be written and not read: its pieces can still be written by themselves.
            Err(failure) if sieve == Switch::Automatic && failure.cause.raw_os_error() == Some(libc::EBADF) => {
                return self.write_apart(storage, buffer, written);
            }
            outcome => outcome?,
        }
        let bytes = &buffer.bytes[facts.first as usize..facts.last as usize];
        let mut all = 0;
        let outcome = write_all(storage, bytes, self.offset(facts.first), &mut all);
        *written += if outcome.is_ok() { facts.covered } else { all.min(facts.covered) };
        outcome
    }

    fn write_apart(&self, storage: &dyn Storage, buffer: &WindowBuffer, written: &mut u64) -> Result<(), Failure> {
        for run in buffer.coverage.runs(self.at, self.end()) {
            let bytes = &buffer.bytes[run.start as usize..run.end as usize];
            write_all(storage, bytes, self.offset(run.start), written)?;
        }
        Ok(())
    }

    fn read(&self, storage: &dyn Storage, buffer: &mut WindowBuffer, bridge: u64) -> Result<(), Failure> {
        let WindowBuffer { bytes, coverage } = buffer;
        let mut runs = coverage.runs(self.at, self.end()).peekable();
        while let Some(mut run) = runs.next() {
            while let Some(next) = runs.next_if(|next| next.start - run.end <= bridge) {
                run.end = next.end;
            }
            read_all(storage, &mut bytes[run.start as usize..run.end as usize], self.offset(run.start))?;
        }
        Ok(())
    }

    /// Reads from the first hole to the last at once, and keeps what belongs in the holes.
    fn fill_holes(&self, storage: &dyn Storage, buffer: &mut WindowBuffer, facts: &Facts) -> Result<(), Failure> {
        let WindowBuffer { bytes, coverage } = buffer;
        let holes = || {
            let ends = coverage.runs(facts.first, facts.last).map(|run| run.end);
            ends.zip(coverage.runs(facts.first, facts.last).skip(1).map(|run| run.start))
        };
        let Some((from, _)) = holes().next() else { return Ok(()) };
        let to = holes().last().map_or(from, |(_, to)| to);
        let mut there = vec![0; (to - from) as usize];
        read_all(storage, &mut there, self.offset(from))?;
        for (start, end) in holes() {
            let hole = &there[(start - from) as usize..(end - from) as usize];
            bytes[start as usize..end as usize].copy_from_slice(hole);
        }
        Ok(())
    }
}
