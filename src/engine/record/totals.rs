//! The numbers of one call on one rank, on whose sums all ranks agree at its end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::engine::direction::Direction;
use crate::engine::policy::decision::Decision;
use crate::engine::record::timeline::Exchanged;
use crate::engine::roles::auto_choice::AutoChoice;
use crate::engine::storage::window_queue::Outcome;
use crate::fabric::Traffic;

/// The numbers and the outcome of one call on this rank, for the agreement.
pub struct CallTotals {
    /// Write or read.
    pub direction: Direction,
    /// The way of the bytes, and why it was chosen.
    pub decision: Decision,
    /// What `auto` took, in an exchange.
    pub auto: Option<AutoChoice>,
    /// Whether the plan of an earlier call was reused.
    pub reused: bool,
    /// Messages and bytes that the metadata phase sent.
    pub metadata: Traffic,
    /// Bytes of lists that went through memory of the node.
    pub in_memory: u64,
    /// Counts of the data phase.
    pub counts: DataCounts,
    /// The outcome of the I/O.
    pub outcome: Outcome,
}

impl CallTotals {
    /// The totals of a call that begins to move bytes.
    pub fn new(direction: Direction, decision: Decision) -> Self {
        Self {
            direction,
            decision,
            auto: None,
            reused: false,
            metadata: Traffic::default(),
            in_memory: 0,
            counts: DataCounts::default(),
            outcome: Outcome::default(),
        }
    }
}

/// The counts of the data phase on this rank.
#[derive(Debug, Default)]
pub struct DataCounts {
    /// Messages and bytes sent.
    pub traffic: Traffic,
    /// Number of rounds in which this rank owned a window with data.
    pub windows: u64,
    /// For each fan-in, the number of rounds in which this aggregator had it.
    pub fan_in: BTreeMap<u32, u64>,
    /// Bytes that this rank copied to or from shared memory of its node in place of messages.
    pub in_memory: u64,
    /// Time in packing and exchange.
    pub exchange: Duration,
    /// Time in placement.
    pub placement: Duration,
    /// The rounds in which this rank owned a window, where they are timed.
    pub rounds: Option<Vec<Exchanged>>,
}

impl DataCounts {
    /// Counts a window with data of `ranks` ranks.
    pub fn opened(&mut self, ranks: usize) {
        self.windows += 1;
        *self.fan_in.entry(ranks as u32).or_default() += 1;
    }

    /// Counts a round that began then and has ended; this rank `owned` a window in it, with data of so many ranks and of so many
    /// bytes of the file, or none.
    pub fn exchanged(
        &mut self,
        round: u64,
        begin: Instant,
        (traffic, placement): (Traffic, Duration),
        owned: Option<(usize, u64)>,
    ) {
        let took = begin.elapsed();
        self.traffic += traffic;
        self.placement += placement;
        self.exchange += took.saturating_sub(placement);
        if let (Some(rounds), Some((ranks, bytes))) = (&mut self.rounds, owned) {
            rounds.push(Exchanged { round, ranks: ranks as u32, bytes, begin, end: begin + took });
        }
    }
}
