//! The timeline of one rank: the times of the rank in each phase, and the times of the windows that the rank owned as
//! an aggregator. Kept only for captures.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::engine::trace::clock::{Clock, Lap};
use crate::engine::trace::counts::CallTotals;
use crate::engine::trace::report::Seconds;
use crate::world::clock;

/// Maximum number of windows in the timelines of all ranks together.
const ROOM: usize = 1 << 14;
/// Maximum number of windows in the timeline of one rank.
const MOST_KEPT: usize = 512;

/// The timeline of one rank over all calls on a file. Times are in seconds, of this rank only; they count from the end
/// of the open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankTimeline {
    /// Time of each phase, summed over calls, of this rank only.
    pub seconds: Seconds,
    /// Number of windows (parts of the file that an aggregator writes or reads in a round) that the rank owned.
    pub windows: u64,
    /// Number of bytes of the file in these windows.
    pub covered: u64,
    /// Fan-in of these windows: the number of ranks with data in a window. Pairs of (fan-in, number of windows),
    /// ascending.
    pub fan_in: Vec<(u32, u64)>,
    /// First windows of the rank, with their times.
    pub rounds: Vec<Round>,
}

/// One window of an aggregator, with its times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Number of the call on the file, from 0.
    pub call: u64,
    /// Round of the call, with the same number on all ranks.
    pub round: u64,
    /// Number of ranks with data in the window, the aggregator included.
    pub ranks: u32,
    /// Number of bytes of the file in the window.
    pub bytes: u64,
    /// Begin and end of the exchange, in seconds.
    pub exchange: (f64, f64),
    /// Begin and end of the write or read of the file, in seconds; equal if there was none.
    pub io: (f64, f64),
}

/// The exchange of one round in which this rank owned a window, with its times.
#[derive(Debug, Clone, Copy)]
pub struct TimedRound {
    /// Number of the round in the call, from 0.
    pub round: u64,
    /// Number of ranks with data in the window.
    pub ranks: u32,
    /// Number of bytes of the file in the window.
    pub bytes: u64,
    /// Begin of the exchange.
    pub begin: Instant,
    /// End of the exchange.
    pub end: Instant,
}

/// Records the timeline of this rank.
#[derive(Debug)]
pub struct TimelineWriter {
    /// End of the open, from which times count.
    opened: Instant,
    /// Maximum number of windows to keep.
    most: usize,
    /// Number of calls that have ended.
    calls: u64,
    timeline: RankTimeline,
}

impl TimelineWriter {
    /// Starts an empty timeline on one of `ranks` ranks.
    pub fn new(ranks: usize) -> Self {
        let most = (ROOM / ranks.max(1)).clamp(1, MOST_KEPT);
        Self { opened: clock::now(), most, calls: 0, timeline: RankTimeline::default() }
    }

    fn at(&self, time: Instant) -> f64 {
        time.saturating_duration_since(self.opened).as_secs_f64()
    }

    /// Adds the times of the phases and the windows of a call that is about to end.
    pub fn phases(&mut self, clock: &Clock, done: &CallTotals) {
        let CallTotals { counts, outcome, .. } = done;
        self.own(Seconds {
            flatten: clock.spent(Lap::Flatten).as_secs_f64(),
            metadata: clock.spent(Lap::Metadata).as_secs_f64(),
            data: counts.exchange.as_secs_f64(),
            placement: counts.placement.as_secs_f64(),
            io: outcome.busy.as_secs_f64(),
            agreement: clock.spent(Lap::Agreement).as_secs_f64(),
            ..Seconds::default()
        });
        self.timeline.windows += counts.windows;
        self.timeline.covered += counts.rounds.iter().flatten().map(|round| round.bytes).sum::<u64>();
        // Windows go to the file in the order in which they were filled.
        let mut written = outcome.times.iter();
        for TimedRound { round, ranks, bytes, begin, end } in counts.rounds.iter().flatten() {
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

    /// Adds times of this rank in some phases of a call.
    pub fn own(&mut self, seconds: Seconds) {
        self.timeline.seconds += seconds;
    }

    /// Counts a call that began at `started` and ends now.
    pub fn call(&mut self, started: Instant) {
        self.calls += 1;
        self.timeline.seconds.total += self.at(clock::now()) - self.at(started);
    }

    /// Returns the timeline at the close of a file. `fan_in` has pairs of (number of ranks with data in a window,
    /// number of such windows), of all windows.
    pub fn finished(self, fan_in: impl Iterator<Item = (u32, u64)>) -> RankTimeline {
        RankTimeline { fan_in: fan_in.collect(), ..self.timeline }
    }
}
