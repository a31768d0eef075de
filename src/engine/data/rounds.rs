//! The data phase, either way: where every flow of a rank stands, round after round.
//!
//! A rank takes part in the rounds for which it has data or owns a window with data, and in no others: rounds follow
//! data, not range. Rounds are numbered alike everywhere and taken in ascending order, so
//! the lowest round that is not finished anywhere has been reached by all who take part in it, and the exchange cannot
//! deadlock across rounds.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::collectives::FIRST_FREE_TAG;
use crate::drivers::Domains;
use crate::engine::data::flow::{Agenda, Outflow};
use crate::engine::data::windows::Windows;
use crate::engine::metadata::phase::Phase;
use crate::engine::plan::{Direction, Plan};
use crate::engine::two_layer::gather_tree::MemberTree;
use crate::engine::two_layer::local_aggregation::{LocalAggregation, LocalRound};
use crate::engine::two_layer::node::Inside;
use crate::exchange::Transfer;
use crate::exchange::two_layer::{self, Share};
use crate::fabric::Traffic;
use crate::schedule::Schedule;
use crate::topology::Rank;

/// The tag of the data phase.
pub const DATA: u16 = FIRST_FREE_TAG + 2;

/// What the data phase cost this rank.
#[derive(Debug, Default)]
pub struct DataCounts {
    /// Messages and bytes sent.
    pub traffic: Traffic,
    /// Rounds in which this rank owned a window with data.
    pub windows: u64,
    /// How often this aggregator exchanged with so many ranks in a round (itself included).
    pub fan_in: BTreeMap<u32, u64>,
    /// Bytes that this rank copied to or from memory of its node in place of messages.
    pub in_memory: u64,
    /// Time in packing and exchange.
    pub exchange: Duration,
    /// Time in placement.
    pub placement: Duration,
}

impl DataCounts {
    /// Counts a window that so many ranks have a part in.
    pub fn opened(&mut self, ranks: usize) {
        self.windows += 1;
        *self.fan_in.entry(ranks as u32).or_default() += 1;
    }
}

/// Where a rank stands in the data phase.
pub struct Rounds<'a> {
    /// How data travels.
    pub phase: &'a Phase,
    /// The file, divided.
    pub domains: &'a Domains,
    /// What this rank has (or wants), by aggregator.
    pub outflows: Vec<Outflow>,
    /// When.
    pub leaving: Agenda,
    /// What this aggregator gathers (or hands out).
    pub windows: Windows,
    /// What this local aggregator relays.
    pub relaying: Option<LocalAggregation>,
    /// This rank's part of the tree inside the node.
    tree: Option<&'a MemberTree>,
    /// Its part in memory inside the node.
    pub inside: Option<Inside<'a>>,
    /// The first round that it has not taken part in yet.
    ahead: u64,
    /// What it has cost so far.
    pub counts: DataCounts,
}

impl<'a> Rounds<'a> {
    /// At the first round of a plan.
    pub fn new(plan: &'a Plan, phase: &'a Phase, direction: Direction) -> Self {
        let domains = &plan.domains;
        let own = phase.route.receivers.binary_search(&phase.route.rank).unwrap_or_default();
        let outflow = |o: &crate::engine::plan::flatten::ListsToSend| {
            Outflow::new(o.aggregator, o.file.clone(), o.memory.clone())
        };
        let outflows: Vec<_> = plan.outgoing.iter().map(outflow).collect();
        let windows = Windows::new(own, plan);
        let mut leaving = Agenda::default();
        outflows.iter().enumerate().for_each(|(id, out)| leaving.file(id, &out.file, domains));
        let relaying =
            plan.announced.relay.as_ref().map(|relay| LocalAggregation::new(relay, phase.route.rank, domains));
        let (tree, counts) = (plan.announced.tree.as_ref(), DataCounts::default());
        let inside = plan.announced.in_memory.as_ref().map(|plan| Inside::new(plan, direction, domains));
        Self { phase, domains, outflows, leaving, windows, relaying, tree, inside, ahead: 0, counts }
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.phase.route.rank
    }

    /// The next round that this rank takes part in.
    pub fn next_round(&self) -> Option<u64> {
        let relayed = self.relaying.as_ref().and_then(LocalAggregation::next_round);
        let passed = self.tree.and_then(|tree| tree.next_round(self.ahead));
        let inside = self.inside.as_ref().and_then(Inside::next_round);
        [self.leaving.next_round(), self.windows.next_round(), relayed, passed, inside].into_iter().flatten().min()
    }

    /// The schedule of a round: this rank has `shares`, a local aggregator relays, an aggregator gets `receives`.
    pub fn schedule(
        &mut self,
        round: u64,
        shares: &[Share],
        relay: &LocalRound,
        receives: &[Transfer<Rank>],
    ) -> Schedule {
        self.ahead = round + 1;
        let members = &relay.members;
        let merged = self.inside.as_mut().map(|inside| inside.open(round, self.domains));
        let Some(tree) = self.tree else {
            return self.phase.schedule(shares, members, None, merged.as_deref(), receives);
        };
        let (group, part) = (tree.group(), tree.part(round, shares, relay));
        self.phase.schedule(shares, members, Some(two_layer::RoundTree { group: &group, part: &part }), None, receives)
    }

    /// Whether this rank is `aggregator` itself, so that its share for it is not sent. With a local aggregator in between it
    /// is sent all the same.
    pub fn stays(&self, aggregator: usize) -> bool {
        self.phase.local.is_none() && self.phase.route.receivers[aggregator] == self.rank()
    }

    /// The outflow for an aggregator.
    pub fn outflow_of(outflows: &[Outflow], aggregator: usize) -> Option<usize> {
        outflows.binary_search_by_key(&aggregator, |outflow| outflow.file.aggregator()).ok()
    }

    /// The outflows of a round that is over have their next windows.
    pub fn refile(&mut self, due: &[usize]) {
        for &id in due {
            self.leaving.file(id, &self.outflows[id].file, self.domains);
        }
    }
}
