//! A timeline: what one rank did in the calls on a file, and when. It is kept for captures only.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::engine::record::report::{Clock, Lap, Seconds};
use crate::engine::record::totals::CallTotals;

/// Windows that the timelines of all ranks have room for together.
const ROOM: usize = 1 << 14;
/// Windows that one rank keeps at most.
const MOST_KEPT: usize = 512;

/// What one rank did in the calls on a file. Times are its own, in seconds; they count from the end of the open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTimeline {
    /// Time by phase, of this rank alone.
    pub seconds: Seconds,
    /// Windows that it owned as an aggregator.
    pub windows: u64,
    /// Bytes of the file that these windows cover.
    pub covered: u64,
    /// (ranks that a window had data of, number of such windows), ascending.
    pub fan_in: Vec<(u32, u64)>,
    /// The first windows.
    pub rounds: Vec<Round>,
}

/// One window of an aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The call, from 0 on.
    pub call: u64,
    /// The round of the call, as all ranks number them.
    pub round: u64,
    /// Ranks that it had data of, itself included.
    pub ranks: u32,
    /// Bytes of the file that the window covers.
    pub bytes: u64,
    /// From the beginning of the exchange to its end.
    pub exchange: (f64, f64),
    /// From the beginning of the write or read of the file to its end; the same twice where there was none.
    pub io: (f64, f64),
}

/// A round of an aggregator, as it is timed.
#[derive(Debug, Clone, Copy)]
pub struct Exchanged {
    /// The round.
    pub round: u64,
    /// Ranks with data.
    pub ranks: u32,
    /// Bytes of the file that its window covers.
    pub bytes: u64,
    /// Its beginning.
    pub begin: Instant,
    /// Its end.
    pub end: Instant,
}

/// A timeline that is being kept.
#[derive(Debug)]
pub struct TimelineWriter {
    opened: Instant,
    most: usize,
    /// Calls that have ended.
    calls: u64,
    timeline: RankTimeline,
}

impl TimelineWriter {
    /// Starts, on one of so many ranks.
    pub fn new(ranks: usize) -> Self {
        let most = (ROOM / ranks.max(1)).clamp(1, MOST_KEPT);
        Self { opened: Instant::now(), most, calls: 0, timeline: RankTimeline::default() }
    }

    fn at(&self, time: Instant) -> f64 {
        time.saturating_duration_since(self.opened).as_secs_f64()
    }

    /// Takes the phases of a call that is about to end.
    pub fn phases(&mut self, clock: &Clock, done: &CallTotals) {
        let CallTotals { counts, outcome, .. } = done;
        self.own(Seconds {
            flatten: clock.spent(Lap::Flatten).as_secs_f64(),
            metadata: clock.spent(Lap::Metadata).as_secs_f64(),
            data: counts.exchange.as_secs_f64(),
            placement: counts.placement.as_secs_f64(),
            io: outcome.busy.as_secs_f64(),
            agreement: clock.spent(Lap::Agreement).as_secs_f64(),
            total: 0.0,
        });
        self.timeline.windows += counts.windows;
        self.timeline.covered += counts.rounds.iter().flatten().map(|round| round.bytes).sum::<u64>();
        // Windows go to the file in the order in which they were filled.
        let mut written = outcome.times.iter();
        for Exchanged { round, ranks, bytes, begin, end } in counts.rounds.iter().flatten() {
            if self.timeline.rounds.len() == self.most {
                break;
            }
            let exchange = (self.at(*begin), self.at(*end));
            let io = written.next().map_or((exchange.1, exchange.1), |&(begin, end)| (self.at(begin), self.at(end)));
            self.timeline.rounds.push(Round {
                call: self.calls,
                round: *round,
                ranks: *ranks,
                bytes: *bytes,
                exchange,
                io,
            });
        }
    }

    /// Adds time of this rank in some phases of a call.
    pub fn own(&mut self, seconds: Seconds) {
        self.timeline.seconds += seconds;
    }

    /// Takes a call that has ended.
    pub fn call(&mut self, started: Instant) {
        self.calls += 1;
        self.timeline.seconds.total += self.at(Instant::now()) - self.at(started);
    }

    /// The timeline of a file that closes, with the fan-in of its rounds.
    pub fn finished(self, fan_in: impl Iterator<Item = (u32, u64)>) -> RankTimeline {
        RankTimeline { fan_in: fan_in.collect(), ..self.timeline }
    }
}
