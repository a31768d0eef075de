//! The state of a rank in the data phase of a write or a read.
//!
//! A rank takes part only in the rounds for which it has data, or owns a window with data. All ranks number rounds
//! alike and take them in ascending order. So all ranks that take part in the lowest unfinished round have reached it,
//! and the exchange cannot deadlock across rounds.

use crate::access::Direction;
use crate::collectives::FIRST_FREE_TAG;
use crate::drivers::Domains;
use crate::engine::data::windows::Windows;
use crate::engine::lists::flow::{Outflow, RoundQueue};
use crate::engine::metadata::Phase;
use crate::engine::plan::Plan;
use crate::engine::policy::{LONG_MESSAGE, ROUNDS_AHEAD};
use crate::engine::record::report::DataCounts;
use crate::engine::two_layer::node::NodeMember;
use crate::engine::watchdog::{CallStage, StallWatchdog};
use crate::error::Error;
use crate::exchange::two_layer::Share;
use crate::exchange::{Route, Transfer};
use crate::fabric::{InFlight, Message};
use crate::schedule::{Schedule, Span, ThrottleMode};
use crate::topology::Rank;

/// Tag of the messages of the data phase.
pub const DATA: u16 = FIRST_FREE_TAG + 2;

/// Returns the error of a rank that has no memory for a message of a round. The rank sends an empty message instead: the
/// other ranks already wait for it. The receiver, which knows that bytes are due, has the error until the agreement at
/// the end of the call.
pub fn no_memory_of(rank: Rank, bytes: u64) -> Error {
    Error::NoMemory { rank, bytes, what: "a message; a smaller cb_buffer_size needs less".to_string() }
}

/// Returns true if a message shows that its sender had no memory for it ([`no_memory_of`]).
pub fn is_missing(span: Span, message: &Message) -> bool {
    message.is_empty() && span.len > 0
}

/// The state of one rank over all rounds of the data phase.
pub struct Rounds<'a> {
    /// Route of the data messages, and the local aggregators.
    pub phase: &'a Phase,
    /// File domains: the parts of the file that belong to each aggregator.
    pub domains: &'a Domains,
    /// The bytes that this rank sends (write) or wants (read), one outflow for each aggregator, ascending.
    pub outflows: Vec<Outflow>,
    /// The outflows, sorted by the next round in which they have bytes.
    pub leaving: RoundQueue,
    /// The windows of this aggregator.
    pub windows: Windows,
    /// This rank's part in the shared memory of its node.
    pub inside: Option<NodeMember<'a>>,
    /// Counts of this rank's messages, bytes and times so far.
    pub counts: DataCounts,
    /// The stall watchdog, which knows the round that this rank is in.
    watchdog: &'a StallWatchdog,
}

impl<'a> Rounds<'a> {
    /// Starts the data phase of a plan. With `times`, records the times of rounds in which this rank owns a window.
    pub fn new(plan: &'a Plan, direction: Direction, watchdog: &'a StallWatchdog, times: bool) -> Self {
        let (domains, phase) = (&plan.domains, &*plan.data);
        let own = phase.route.receivers.binary_search(&phase.route.rank).unwrap_or_default();
        let outflow = |o: &crate::engine::lists::flatten::ListsToSend| {
            Outflow::new(o.aggregator, o.file.clone(), o.memory.clone())
        };
        let outflows: Vec<_> = plan.outgoing.iter().map(outflow).collect();
        let windows = Windows::new(own, plan);
        let mut leaving = RoundQueue::default();
        outflows.iter().enumerate().for_each(|(id, out)| leaving.schedule(id, &out.file, domains));
        let counts = DataCounts { rounds: times.then(Vec::new), ..DataCounts::default() };
        let inside = plan.announced.in_memory.as_ref().map(|plan| NodeMember::new(plan, direction, domains));
        Self { phase, domains, outflows, leaving, windows, inside, counts, watchdog }
    }

    /// Returns this rank.
    pub fn rank(&self) -> Rank {
        self.phase.route.rank
    }

    /// Tells the stall watchdog that the rank is now in stage `part` of the call.
    pub fn go_on(&self, part: CallStage) {
        self.watchdog.go_on(part);
    }

    /// Returns the next round that this rank takes part in.
    pub fn next_round(&self) -> Option<u64> {
        let inside = self.inside.as_ref().and_then(NodeMember::next_round);
        [self.leaving.next_round(), self.windows.next_round(), inside].into_iter().flatten().min()
    }

    /// Returns true if another round may start while those of `flight` have not ended. Only rounds with long messages
    /// may, and in the beginning fewer, so that the file gets its first windows soon. With two layers none may, because
    /// members share the memory of a round; with batches none may, because rounds would be one batch.
    pub fn may_run_ahead(&self, flight: &InFlight) -> bool {
        let Route { throttle, ranks, .. } = self.phase.route;
        let in_batches = throttle.limit.is_some() && throttle.mode == ThrottleMode::Batch;
        let is_long = self.domains.window_bytes() / ranks as u64 >= LONG_MESSAGE;
        let ahead = ROUNDS_AHEAD.min(1 + flight.ended());
        is_long && self.inside.is_none() && !in_batches && flight.len() < ahead && flight.may_join()
    }

    /// The schedule of a round: this rank has `shares`; an aggregator gets `receives`.
    pub fn schedule(&mut self, round: u64, shares: &[Share], receives: &[Transfer<Rank>]) -> Schedule {
        let merged = self.inside.as_mut().map(|inside| inside.open(round, self.domains)).unwrap_or_default();
        self.phase.schedule(shares, &merged, receives)
    }

    /// Returns true if this rank is `aggregator`, so that its share for `aggregator` is not sent. (Through a local
    /// aggregator, the share is sent.)
    pub fn stays(&self, aggregator: usize) -> bool {
        self.phase.local.is_none() && self.phase.route.receivers[aggregator] == self.rank()
    }

    /// Returns the index of the outflow for an aggregator.
    pub fn outflow_of(outflows: &[Outflow], aggregator: usize) -> Option<usize> {
        outflows.binary_search_by_key(&aggregator, |outflow| outflow.file.aggregator()).ok()
    }

    /// Sorts the outflows of a finished round back into the queue, under the round of their next bytes.
    pub fn reschedule(&mut self, due: &[usize]) {
        for &id in due {
            self.leaving.schedule(id, &self.outflows[id].file, self.domains);
        }
    }
}
