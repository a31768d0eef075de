//! What a rank keeps of the calls on an open file.

use std::time::{Duration, Instant};

use serde_json::json;

use super::block::{Encoder, ListPlace, timeline_body};
use super::layout::Asked;
use super::target::Target;
use crate::access::{BufferLayout, Extents};
use crate::engine::direction::Direction;
use crate::engine::record::report::CallReport;
use crate::engine::record::timeline::RankTimeline;
use crate::error::Error;

/// Lists that are held are encoded when they take more memory than this, in bytes; otherwise when the file is closed.
const MOST_HELD: usize = 64 << 20;
/// A new list is compared with so many lists before it.
const COMPARED: usize = 8;
/// What a call takes in the capture at most, in bytes, without its lists.
const CALL: u64 = 64;

/// What a rank keeps while a file is open.
pub struct Recording {
    target: &'static Target,
    opened: Instant,
    /// Bytes that this rank may still take.
    room: u64,
    encoder: Encoder,
    /// Lists that are not encoded yet; they follow those that are.
    held: Vec<Extents>,
    /// Their memory, in bytes.
    held_bytes: usize,
    calls: Vec<Recorded>,
    /// On rank 0: the reports, a line of JSON each.
    reports: Option<String>,
    made: u64,
    is_full: bool,
    /// Which hints were given.
    pub asked: Option<Asked>,
}

/// A call, with its lists by number.
struct Recorded {
    direction: Direction,
    failed: bool,
    file: ListPlace,
    memory: Option<ListPlace>,
    start: Duration,
    took: Duration,
}

impl Recording {
    /// Starts, on a rank of so many.
    pub fn new(target: &'static Target, rank: usize, ranks: usize) -> Self {
        let (encoder, held, held_bytes, calls) = Default::default();
        let room = target.limit / ranks as u64;
        let reports = (rank == 0).then(String::new);
        let opened = Instant::now();
        Self { target, opened, room, encoder, held, held_bytes, calls, reports, made: 0, is_full: false, asked: None }
    }

    /// Where the capture goes.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// When the file was opened.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Takes a call that has ended. O(1) where its lists are those of a call before, moved by a constant; a list is shared with
    /// the caller's, not copied.
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
        let took = started.elapsed();
        let memory = match layout {
            BufferLayout::Contiguous => None,
            BufferLayout::Extents(extents) => Some(self.place(extents)),
        };
        let file = self.place(file);
        let start = started.saturating_duration_since(self.opened);
        self.report(number, direction, outcome);
        if !self.is_full {
            self.calls.push(Recorded { direction, failed: outcome.is_err(), file, memory, start, took });
        }
    }

    /// The list, as one that is kept and how far it lies behind it.
    fn place(&mut self, list: &Extents) -> ListPlace {
        let Some((start, _)) = list.span() else {
            return ListPlace::default();
        };
        let first = self.encoder.lists();
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

    /// Encodes the lists that are held. O(their extents).
    fn encode(&mut self) {
        self.held_bytes = 0;
        for list in self.held.drain(..) {
            let (before, memory) = (self.encoder.bytes(), list.memory() as u64);
            self.encoder.add_list(&list);
            let encoded = (self.encoder.bytes() - before) as u64;
            // What was taken for the list in memory, less what it takes encoded.
            self.room = (self.room + memory).saturating_sub(encoded);
        }
    }

    /// What goes into the capture: this rank's block, how many calls are in it and how many there were, and on rank 0 the
    /// reports. The rank's timeline is left out where there is no room for it.
    pub fn finish(mut self, timeline: Option<RankTimeline>) -> Finished {
        self.encode();
        let timeline = timeline.map(|timeline| timeline_body(&timeline)).filter(|body| body.len() as u64 <= self.room);
        let Self { mut encoder, calls, reports, made, .. } = self;
        for Recorded { direction, failed, file, memory, start, took } in &calls {
            encoder.add_call(*direction, *failed, (*file, *memory), *start, *took);
        }
        if let Some(timeline) = timeline {
            encoder.add_timeline(&timeline);
        }
        let recorded = calls.len() as u64;
        Finished { block: encoder.finish(), recorded, made, reports: reports.unwrap_or_default() }
    }
}

/// What a rank has for the capture.
pub struct Finished {
    /// Its block.
    pub block: Vec<u8>,
    /// Calls in the block: the first ones.
    pub recorded: u64,
    /// Calls on the file.
    pub made: u64,
    /// On rank 0: a line of JSON for each recorded call.
    pub reports: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::capture::block::{self, Call};

    fn recording(limit: u64) -> Recording {
        let target = Target { directory: "unused".into(), limit, complaint: None };
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
