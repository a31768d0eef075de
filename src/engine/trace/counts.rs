//! The totals of a collective call on one rank: its bytes and times, the outcome of its file I/O, and the counts of its
//! rounds.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::access::Direction;
use crate::engine::trace::path::{AutoChoice, Layering};
use crate::engine::trace::timeline::TimedRound;
use crate::error::Error;
use crate::fabric::Traffic;
use crate::world::clock;

/// Outcome of one rank's file I/O in one call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of bytes written, or read before the end of the file.
    pub bytes: u64,
    /// Number of calls on the file that wrote bytes.
    pub calls: u64,
    /// Time that this rank spent in the file system.
    pub busy: Duration,
    /// Sum of the times of writes and reads of windows, of which several may be made at the same time.
    pub spent: Duration,
    /// Time that this rank waited for windows of its worker, and for bytes that it wrote before the agreement.
    pub waited: Duration,
    /// First error, if there is one: of errors at several offsets of the file, the error at the lowest.
    pub error: Option<Error>,
    /// Begin and end of the write or read of each window, in the order of submission; empty unless windows are timed.
    pub times: Vec<(Instant, Instant)>,
}

impl Outcome {
    /// Adds the bytes and time of the writes or reads that this rank has made before the agreement.
    pub fn add(&mut self, early: Option<Self>) {
        if let Some(Self { bytes, calls, busy, spent, .. }) = early {
            self.bytes += bytes;
            self.calls += calls;
            self.busy += busy;
            self.spent += spent;
            self.waited += busy;
        }
    }

    /// Adds the outcome of a later part of the call.
    pub fn append(&mut self, later: Self) {
        self.bytes += later.bytes;
        self.calls += later.calls;
        self.busy += later.busy;
        self.spent += later.spent;
        self.waited += later.waited;
        self.error = self.error.take().or(later.error);
        self.times.extend(later.times);
    }
}

/// Numbers and outcome of one call on this rank, for the agreement at its end.
pub struct CallTotals {
    /// Direction of the call: write or read.
    pub direction: Direction,
    /// Kernel that `auto` chose, in an exchange.
    pub auto: Option<AutoChoice>,
    /// Layers of the messages of an exchange.
    pub layers: Layering,
    /// True if the call reused the plan of an earlier call.
    pub reused: bool,
    /// Messages and bytes that this rank sent in the metadata phase.
    pub metadata: Traffic,
    /// Number of bytes of lists that this rank passed through shared memory.
    pub in_memory: u64,
    /// Counts of the data phase on this rank.
    pub counts: DataCounts,
    /// Outcome of this rank's file I/O.
    pub outcome: Outcome,
}

impl CallTotals {
    /// Returns the totals of a call that begins to move bytes.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            auto: None,
            layers: Layering::default(),
            reused: false,
            metadata: Traffic::default(),
            in_memory: 0,
            counts: DataCounts::default(),
            outcome: Outcome::default(),
        }
    }

    /// Adds the totals of a later part of the call. This part had `rounds` rounds.
    pub fn add(&mut self, later: Self, rounds: u64) {
        (self.auto, self.layers) = (later.auto, later.layers);
        self.metadata += later.metadata;
        self.in_memory += later.in_memory;
        self.counts.add(later.counts, rounds);
        self.outcome.append(later.outcome);
    }
}

/// The counts of the data phase on this rank.
#[derive(Debug, Default)]
pub struct DataCounts {
    /// Messages and bytes that this rank sent.
    pub traffic: Traffic,
    /// Number of rounds in which this rank owned a window with data.
    pub windows: u64,
    /// Number of rounds in which this aggregator had each fan-in.
    pub fan_in: BTreeMap<u32, u64>,
    /// Number of bytes that this rank copied to or from shared memory instead of messages.
    pub in_memory: u64,
    /// Time of packing and exchange.
    pub exchange: Duration,
    /// Time of copying bytes into windows, or out of them.
    pub placement: Duration,
    /// Times of the rounds in which this rank owned a window, if they are recorded.
    pub rounds: Option<Vec<TimedRound>>,
    /// End of the last round.
    pub ended: Option<Instant>,
    /// First lack of memory for a message, on this rank or on one that sends to it.
    pub error: Option<Error>,
}

impl DataCounts {
    /// Adds the counts of a later part of the call, whose rounds follow the `before` rounds of this part.
    fn add(&mut self, later: Self, before: u64) {
        self.traffic += later.traffic;
        self.windows += later.windows;
        self.in_memory += later.in_memory;
        self.exchange += later.exchange;
        self.placement += later.placement;
        self.ended = later.ended.or(self.ended);
        if let Some(rounds) = &mut self.rounds {
            let renumbered = |round: TimedRound| TimedRound { round: before + round.round, ..round };
            rounds.extend(later.rounds.into_iter().flatten().map(renumbered));
        }
    }

    /// Counts a window with data of `ranks` ranks.
    pub fn opened(&mut self, ranks: usize) {
        self.windows += 1;
        *self.fan_in.entry(ranks as u32).or_default() += 1;
    }

    /// Counts a round that began at `begin` and ends now; the time for which other rounds were in flight counts once.
    /// `owned` has the number of ranks and of bytes of the file in this rank's window, if it owned one.
    pub fn exchanged(
        &mut self,
        round: u64,
        begin: Instant,
        (traffic, placement): (Traffic, Duration),
        owned: Option<(usize, u64)>,
    ) {
        let end = clock::now();
        let took = end - self.ended.replace(end).map_or(begin, |ended| ended.max(begin));
        self.traffic += traffic;
        self.placement += placement;
        self.exchange += took.saturating_sub(placement);
        if let (Some(rounds), Some((ranks, bytes))) = (&mut self.rounds, owned) {
            rounds.push(TimedRound { round, ranks: ranks as u32, bytes, begin, end });
        }
    }
}
