//! The stopwatch of a call.

use std::time::{Duration, Instant};

use crate::world::clock;

/// A phase of a call, for [`Clock`]. Phases follow one another.
#[derive(Debug, Clone, Copy)]
pub enum Lap {
    /// Time to divide the access by aggregator.
    Flatten,
    /// Metadata exchange.
    Metadata,
    /// Agreements on ranges, errors and counts.
    Agreement,
    /// Parts of a call that are timed elsewhere: the rounds, the direct path, the wait for writes.
    Elsewhere,
}

/// Measures the time of each phase of a call.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    /// End of the last phase.
    last: Instant,
    spent: [Duration; 4],
}

impl Clock {
    /// Starts the clock of a call.
    pub fn start() -> Self {
        let start = clock::now();
        Self { start, last: start, spent: Default::default() }
    }

    /// Adds the time since the last lap to a phase.
    pub fn lap(&mut self, phase: Lap) {
        let now = clock::now();
        self.spent[phase as usize] += now - std::mem::replace(&mut self.last, now);
    }

    /// Returns the time in a phase so far.
    pub fn spent(&self, phase: Lap) -> Duration {
        self.spent[phase as usize]
    }

    /// Returns the time since the start.
    pub fn total(&self) -> Duration {
        clock::since(self.start)
    }
}
