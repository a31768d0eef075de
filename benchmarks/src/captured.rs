//! Makes the calls of a capture (`TRIB_CAPTURE`, docs/reference/capture.md) a pattern: the accesses of a real
//! program, with other bytes.
//!
//! The steps are the program's collective writes, in their order; if the file was only read, the reads. The byte at
//! an offset is a hash of the offset, the step and the rank. The serial writer writes step after step, and the ranks
//! of a step in rank order (`trib_overlap=rank_order`). Memory that goes to several places of the file is treated as
//! contiguous.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use tributary::BufferLayout;
use tributary::engine::capture::{Call, Header};
use tributary::engine::{Capture, Direction};

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::list::ExtentIndex;
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::serial;
use crate::value::fill_bytes;

/// The calls of a capture as a pattern.
pub struct Captured {
    capture: Capture,
    /// Numbers (in the capture) of the calls that are steps of the pattern.
    steps: Vec<usize>,
    direction: Direction,
    /// Calls of each rank, after they were read.
    calls: Vec<OnceLock<Vec<Call>>>,
    totals: Totals,
}

impl Captured {
    /// Opens a capture. The steps are its calls in the given direction; if none is given, its writes, or else its
    /// reads. Reads the whole capture. O(bytes of the capture).
    ///
    /// # Errors
    /// The file is no complete capture, or has no successful call in that direction.
    pub fn open(path: &Path, direction: Option<Direction>) -> Result<Self, PatternError> {
        let capture = Capture::open(path)?;
        let ranks = capture.header().ranks;
        let calls =
            (0..ranks).map(|rank| Ok(OnceLock::from(capture.rank(rank)?))).collect::<Result<Vec<_>, PatternError>>()?;
        let first: &[Call] = calls.first().and_then(OnceLock::get).map_or(&[], Vec::as_slice);
        let of = |direction| {
            let fits = first.iter().enumerate().filter(|(_, call)| call.direction == direction && !call.failed);
            fits.map(|(number, _)| number).collect::<Vec<_>>()
        };
        let (direction, steps) = match direction {
            Some(direction) => (direction, of(direction)),
            None if of(Direction::Write).is_empty() => (Direction::Read, of(Direction::Read)),
            None => (Direction::Write, of(Direction::Write)),
        };
        if steps.is_empty() {
            let found = format!("{} calls, none of them a {} that went well", capture.calls(), direction.name());
            return Err(PatternError::argument(format!("capture {}", path.display()), found, "one with such a call"));
        }
        let mut totals = Totals { requests: 0, bytes: 0, file_size: 0 };
        for calls in calls.iter().filter_map(OnceLock::get) {
            for call in steps.iter().filter_map(|number| calls.get(*number)) {
                totals.requests = totals.requests.saturating_add(call.file.count());
                totals.bytes = totals.bytes.saturating_add(call.file.bytes());
                totals.file_size = totals.file_size.max(call.file.span().map_or(0, |(_, end)| end));
            }
        }
        Ok(Self { capture, steps, direction, calls, totals })
    }

    /// Returns the header of the capture: properties of the captured file and program.
    pub fn header(&self) -> &Header {
        self.capture.header()
    }

    fn call(&self, rank: usize, step: usize) -> Result<&Call, PatternError> {
        let number = *self.steps.get(step).ok_or_else(|| self.out_of_range("step", step, self.steps.len()))?;
        let calls = self.calls.get(rank).ok_or_else(|| self.out_of_range("rank", rank, self.calls.len()))?;
        let call = calls.get().and_then(|calls| calls.get(number));
        call.ok_or_else(|| self.out_of_range("call", number, self.capture.calls() as usize))
    }

    fn out_of_range(&self, what: &str, value: usize, count: usize) -> PatternError {
        PatternError::argument(what, value, format!("0 to {}", count.saturating_sub(1)))
    }

    /// Returns the seed of the bytes that a rank writes in a step.
    fn seed(&self, rank: usize, step: usize) -> usize {
        rank + step * self.ranks()
    }
}

/// Returns true if some bytes of memory go to several places of the file (HDF5 writes a fill value in this way). Such
/// bytes cannot differ between the places. O(pieces log pieces).
fn is_used_twice(memory: &BufferLayout) -> bool {
    let BufferLayout::Extents(extents) = memory else { return false };
    if extents.is_ascending() {
        return false;
    }
    let mut pieces: Vec<_> = extents.iter().collect();
    pieces.sort_by_key(|piece| piece.offset);
    pieces.windows(2).any(|pair| pair[1].offset < pair[0].end())
}

impl Pattern for Captured {
    fn name(&self) -> &str {
        "capture"
    }

    fn ranks(&self) -> usize {
        self.calls.len()
    }

    fn describe(&self) -> String {
        let Header { file, program, .. } = self.header();
        let (calls, direction) = (self.steps.len(), self.direction.name());
        format!("{calls} collective {direction}s of {file} by {program}, from {}", self.capture.path().display())
    }

    fn steps(&self) -> usize {
        self.steps.len()
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        let Call { file, memory, .. } = self.call(rank, step)?;
        let layout = if is_used_twice(memory) { BufferLayout::Contiguous } else { memory.clone() };
        Ok(RankAccess { file: file.clone(), layout, requests: file.count() })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        let file = &self.call(rank, step)?.file;
        serial::check_size(data, file.bytes())?;
        let (seed, mut rest) = (self.seed(rank, step), data);
        for extent in file.iter() {
            let (front, behind) = rest.split_at_mut(extent.len as usize);
            fill_bytes(seed, extent.offset, front);
            rest = behind;
        }
        Ok(())
    }

    fn overlaps(&self) -> bool {
        true
    }

    /// Takes O(own extents) memory; looks up every extent that is written later among the rank's own.
    fn fill_as_read(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.fill(rank, step, data)?;
        let own = ExtentIndex::from_extents(self.call(rank, step)?.file.iter().map(Ok))?;
        let later = (step..self.steps()).flat_map(|later| (0..self.ranks()).map(move |other| (later, other)));
        for (later, other) in later.filter(|&at| at > (step, rank)) {
            let (file, seed) = (&self.call(other, later)?.file, self.seed(other, later));
            for extent in file.iter() {
                own.within(extent, |part, at| fill_bytes(seed, part.offset, &mut data[at..][..part.len as usize]));
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn closed_form(&self, _division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals;
        ClosedForm { requests, bytes, metadata_fan_in: None, data_fan_in: None }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        let calls = (0..self.steps()).flat_map(|step| (0..self.ranks()).map(move |rank| (step, rank)));
        serial::write_extents(
            file,
            calls.flat_map(|(step, rank)| {
                let seed = self.seed(rank, step);
                let call = self.call(rank, step);
                let (extents, failed) = match call {
                    Ok(call) => (Some(call.file.iter()), None),
                    Err(error) => (None, Some(Err(error))),
                };
                extents.into_iter().flatten().map(move |extent| Ok((seed, extent))).chain(failed)
            }),
        )
    }
}
