//! Records the calls of one rank on an open file.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::access::{BufferLayout, Direction, Extents};
use crate::engine::trace::capture::block::{BlockWriter, ListPlace, timeline_body};
use crate::engine::trace::capture::independent::{IndependentCalls, NotCaptured};
use crate::engine::trace::capture::layout::Asked;
use crate::engine::trace::capture::target::CaptureTarget;
use crate::engine::trace::report::CallReport;
use crate::engine::trace::timeline::RankTimeline;
use crate::error::Error;
use crate::world::clock;

/// Maximum memory of lists that are not encoded yet, in bytes. Above it, the rank encodes them before the file is
/// closed.
const MOST_HELD: usize = 64 << 20;
/// Number of earlier lists that a new list is compared with.
const COMPARED: usize = 8;
/// Maximum number of bytes of a call in the capture, without its lists.
const CALL: u64 = 64;

/// The calls that one rank has recorded on an open file.
pub struct Recording {
    target: &'static CaptureTarget,
    opened: Instant,
    /// Number of bytes of the capture that this rank may still use.
    room: u64,
    block: BlockWriter,
    /// Lists that are not encoded yet; their numbers follow those of the encoded lists.
    held: Vec<Extents>,
    /// Memory of the lists in `held`, in bytes.
    held_bytes: usize,
    calls: Vec<RecordedCall>,
    /// On rank 0: the reports of the calls, one line of JSON each.
    reports: Option<String>,
    made: u64,
    is_full: bool,
    /// The hints that the user gave.
    pub asked: Option<Asked>,
    /// Calls that are not recorded.
    pub not_captured: Option<NotCaptured>,
    /// Independent calls of this rank.
    pub independent: Vec<IndependentCalls>,
}

/// A recorded call, with its lists by number.
struct RecordedCall {
    direction: Direction,
    failed: bool,
    file: ListPlace,
    memory: Option<ListPlace>,
    start: Duration,
    took: Duration,
}

impl Recording {
    /// Starts a recording on rank `rank` of `ranks`.
    pub fn new(target: &'static CaptureTarget, rank: usize, ranks: usize) -> Self {
        let (block, held, held_bytes, calls) = Default::default();
        let room = target.limit / ranks as u64;
        let reports = (rank == 0).then(String::new);
        let opened = clock::now();
        Self {
            target,
            opened,
            room,
            block,
            held,
            held_bytes,
            calls,
            reports,
            made: 0,
            is_full: false,
            asked: None,
            not_captured: None,
            independent: Vec::new(),
        }
    }

    /// Returns the directory and limit of the capture.
    pub fn target(&self) -> &'static CaptureTarget {
        self.target
    }

    /// Returns the time of the open.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Records a call that has ended. Shares its lists with the caller, without a copy. O(1) if each list is a list of
    /// an earlier call, moved by a constant.
    pub fn add(
        &mut self,
        direction: Direction,
        (file, layout): (&Extents, &BufferLayout),
        started: Instant,
        outcome: Result<&CallReport, &Error>,
    ) {
        let number = self.made;
        self.made += 1;
        self.take_room(CALL);
        if self.is_full {
            return;
        }
        let took = clock::since(started);
        let memory = match layout {
            BufferLayout::Contiguous => None,
            BufferLayout::Extents(extents) => Some(self.place(extents)),
        };
        let file = self.place(file);
        let start = started.saturating_duration_since(self.opened);
        self.report(number, direction, outcome);
        if !self.is_full {
            self.calls.push(RecordedCall { direction, failed: outcome.is_err(), file, memory, start, took });
        }
    }

    /// Returns the number of the list among the kept lists, and its lowest offset. Keeps the list if it is new.
    fn place(&mut self, list: &Extents) -> ListPlace {
        let Some((start, _)) = list.span() else {
            return ListPlace::default();
        };
        let first = self.block.lists();
        let lately = self.held.iter().enumerate().rev().take(COMPARED);
        let found = lately.filter(|(_, before)| list.shift_from(before).is_some()).map(|(index, _)| index).next();
        let index = found.unwrap_or_else(|| {
            self.take_room(list.memory() as u64);
            self.held_bytes += list.memory();
            self.held.push(list.clone());
            self.held.len() - 1
        });
        let place = ListPlace { list: Some(first + index), start };
        if self.held_bytes > MOST_HELD {
            self.encode();
        }
        place
    }

    fn report(&mut self, call: u64, direction: Direction, outcome: Result<&CallReport, &Error>) {
        let Some(reports) = &mut self.reports else { return };
        let direction = direction.name();
        let line = match outcome {
            Ok(report) => json!({ "call": call, "direction": direction, "report": report }),
            Err(error) => json!({ "call": call, "direction": direction, "error": error.to_string() }),
        };
        let before = reports.len();
        reports.push_str(&line.to_string());
        reports.push('\n');
        let added = (reports.len() - before) as u64;
        self.take_room(added);
    }

    fn take_room(&mut self, bytes: u64) {
        match self.room.checked_sub(bytes) {
            Some(left) => self.room = left,
            None => self.is_full = true,
        }
    }

    /// Encodes the lists in `held`. O(extents).
    fn encode(&mut self) {
        self.held_bytes = 0;
        for list in self.held.drain(..) {
            let (before, memory) = (self.block.bytes(), list.memory() as u64);
            self.block.add_list(&list);
            let encoded = (self.block.bytes() - before) as u64;
            // Returns the room reserved for the list in memory, less its encoded length.
            self.room = (self.room + memory).saturating_sub(encoded);
        }
    }

    /// Ends the recording and returns this rank's part of the capture. Leaves the timeline out if there is no room for
    /// it.
    pub fn finish(mut self, timeline: Option<RankTimeline>) -> Finished {
        self.encode();
        let timeline = timeline.map(|timeline| timeline_body(&timeline)).filter(|body| body.len() as u64 <= self.room);
        let Self { mut block, calls, reports, made, independent, .. } = self;
        for RecordedCall { direction, failed, file, memory, start, took } in &calls {
            block.add_call(*direction, *failed, (*file, *memory), *start, *took);
        }
        if let Some(timeline) = timeline {
            block.add_timeline(&timeline);
        }
        if !independent.is_empty() {
            block.add_independent(&independent);
        }
        let recorded = calls.len() as u64;
        Finished { block: block.finish(), recorded, made, reports: reports.unwrap_or_default() }
    }
}

/// One rank's part of a capture.
pub struct Finished {
    /// Encoded block of the rank.
    pub block: Vec<u8>,
    /// Number of calls in the block: the first calls on the file.
    pub recorded: u64,
    /// Number of calls that the rank made on the file.
    pub made: u64,
    /// On rank 0: a line of JSON for each recorded call.
    pub reports: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::trace::capture::block::{self, Call};

    fn recording(limit: u64) -> Recording {
        let target = CaptureTarget { directory: "unused".into(), limit };
        Recording::new(Box::leak(Box::new(target)), 0, 1)
    }

    fn add(recording: &mut Recording, file: &Extents, layout: &BufferLayout) {
        recording.add(Direction::Write, (file, layout), Instant::now(), Ok(&CallReport::default()));
    }

    fn calls(finished: &Finished) -> Vec<Call> {
        block::decode(&finished.block.clone().into()).unwrap()
    }

    #[test]
    fn a_list_that_moves_is_kept_once() {
        let mut own = recording(1 << 20);
        let list = Extents::from_list((0..1000).map(|i| crate::Extent { offset: i * i, len: 1 })).unwrap();
        for step in 0..100 {
            add(&mut own, &list.clone().shift(step * 1_000_000).unwrap(), &BufferLayout::Extents(list.clone()));
        }
        let finished = own.finish(None);
        assert!(finished.block.len() < 3 * 1000 + 100 * 24, "{} bytes", finished.block.len());
        let calls = calls(&finished);
        assert_eq!((calls.len(), finished.recorded, finished.made), (100, 100, 100));
        for (step, call) in (0..).zip(&calls) {
            let expected: Vec<_> = list.clone().shift(step * 1_000_000).unwrap().iter().collect();
            assert_eq!(call.file.iter().collect::<Vec<_>>(), expected);
            let BufferLayout::Extents(memory) = &call.memory else { panic!("memory is contiguous") };
            assert_eq!(memory.iter().collect::<Vec<_>>(), list.iter().collect::<Vec<_>>());
        }
        assert_eq!(finished.reports.lines().count(), 100);
    }

    #[test]
    fn a_limit_keeps_the_first_calls() {
        let mut own = recording(4096);
        for step in 0..1000u64 {
            let list = Extents::from_list(
                [(step, 3), (step * step + 7, 2)].map(|(offset, len)| crate::Extent { offset, len }),
            );
            add(&mut own, &list.unwrap(), &BufferLayout::Contiguous);
        }
        let finished = own.finish(None);
        assert!((1..100).contains(&finished.recorded), "{} calls", finished.recorded);
        assert_eq!((finished.made, calls(&finished).len() as u64), (1000, finished.recorded));
        assert!(finished.block.len() + finished.reports.len() < 8192);
    }
}
