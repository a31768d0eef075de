//! A local aggregator in the data phase: it merges its members' bytes into messages; in a read, it splits messages for them.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::drivers::Domains;
use crate::engine::lists::flow::{Flow, RoundQueue};
use crate::engine::two_layer::LocalPlan;
use crate::engine::two_layer::merge::Merger;
use crate::error::{Error, Result};
use crate::exchange::ReceiverIndex;
use crate::exchange::two_layer::Share;
use crate::schedule::Span;
use crate::topology::Rank;

/// The state of a local aggregator over all rounds.
pub struct LocalAggregation {
    members: Vec<Rank>,
    /// The flows of the members, each with its member index; they give the sizes of messages.
    flows: Vec<(usize, Flow)>,
    round_queue: RoundQueue,
    mergers: BTreeMap<usize, Merger>,
    /// Index of this rank among the members with data, if it has any: always the first.
    own: Option<usize>,
}

/// One round of a local aggregator.
#[derive(Debug, Default)]
pub struct LocalRound {
    /// The other members that send in this round, with their shares, ascending.
    pub members: Vec<(Rank, Vec<Share>)>,
    /// (offset in the gathered buffer, member index, shares) of each message.
    messages: Vec<(u64, usize, Vec<Share>)>,
    /// (offset in the merged buffer, aggregator) of each merged message.
    merged: Vec<(u64, usize)>,
    /// The bytes that have arrived, by (member, aggregator).
    arrived: BTreeMap<(usize, usize), Bytes>,
}

impl LocalAggregation {
    /// The state before the first round. Rank `own` is the lowest member.
    pub fn new(local_plan: &LocalPlan, own: Rank, domains: &Domains) -> Self {
        let mut all = Self {
            members: local_plan.members.iter().map(|(rank, _)| *rank).collect(),
            flows: Vec::new(),
            round_queue: RoundQueue::default(),
            mergers: local_plan.merged.iter().map(|merged| (merged.aggregator, Merger::new(merged))).collect(),
            own: local_plan.members.iter().position(|(rank, _)| *rank == own),
        };
        for (member, (_, lists)) in local_plan.members.iter().enumerate() {
            for (aggregator, packed) in lists {
                let flow = Flow::new(*aggregator, packed.clone());
                all.round_queue.schedule(all.flows.len(), &flow, domains);
                all.flows.push((member, flow));
            }
        }
        all
    }

    /// The next round that any member has data for.
    pub fn next_round(&self) -> Option<u64> {
        self.round_queue.next_round()
    }

    /// Opens a round.
    pub fn round(&mut self, round: u64, domains: &Domains) -> LocalRound {
        let mut shares: BTreeMap<usize, Vec<Share>> = BTreeMap::new();
        let mut totals: BTreeMap<usize, u64> = BTreeMap::new();
        // Flows are numbered by member, then by aggregator, so shares ascend in both.
        for id in self.round_queue.take(round) {
            let (member, flow) = &mut self.flows[id];
            let Some(window) = flow.window(domains) else { continue };
            let share = Share { aggregator: ReceiverIndex(flow.aggregator()), len: flow.pass(&window).bytes };
            shares.entry(*member).or_default().push(share);
            *totals.entry(share.aggregator.0).or_default() += share.len;
            self.round_queue.schedule(id, flow, domains);
        }
        let mut opened = LocalRound::default();
        let mut at = 0;
        for (member, shares) in shares {
            if Some(member) == self.own {
                continue;
            }
            opened.members.push((self.members[member], shares.clone()));
            let len: u64 = shares.iter().map(|share| share.len).sum();
            opened.messages.push((at, member, shares));
            at += len;
        }
        let mut at = 0;
        for (aggregator, len) in totals {
            opened.merged.push((at, aggregator));
            at += len;
        }
        opened
    }

    /// In a read: splits the merged message at offset `at` into the bytes that each member wants.
    ///
    /// # Errors
    /// A message that does not have the announced size; on this rank only.
    pub fn split(&mut self, round: &mut LocalRound, at: u64, merged: &[u8]) -> Result<()> {
        let Some(&(_, aggregator)) = round.merged.iter().find(|(start, _)| *start == at) else { return Ok(()) };
        let Some(merger) = self.mergers.get_mut(&aggregator) else { return Ok(()) };
        let other =
            || Error::Fabric(format!("{} bytes of aggregator {aggregator} are not what was asked for", merged.len()));
        let parts = merger.split(merged, self.members.len()).ok_or_else(other)?.into_iter().enumerate();
        let parts = parts.filter(|(_, part)| !part.is_empty());
        round.arrived.extend(parts.map(|(member, part)| ((member, aggregator), Bytes::from(part))));
        Ok(())
    }

    /// In a read: the bytes from an aggregator that this rank itself wants, once its message is split.
    pub fn own_part(&self, round: &LocalRound, aggregator: usize) -> Bytes {
        let part = self.own.and_then(|own| round.arrived.get(&(own, aggregator)));
        part.cloned().unwrap_or_default()
    }

    /// The merged message at offset `at`; `own` returns this rank's own bytes for an aggregator.
    pub fn merge(&mut self, round: &LocalRound, at: u64, own: impl Fn(usize) -> Option<Bytes>) -> Bytes {
        let Some(&(_, aggregator)) = round.merged.iter().find(|(start, _)| *start == at) else { return Bytes::new() };
        let source = |member: usize| match self.own {
            Some(index) if index == member => own(aggregator).unwrap_or_default(),
            _ => round.arrived.get(&(member, aggregator)).cloned().unwrap_or_default(),
        };
        let sources: Vec<Bytes> = (0..self.members.len()).map(source).collect();
        let mut sources: Vec<&[u8]> = sources.iter().map(|source| &source[..]).collect();
        self.mergers.get_mut(&aggregator).map(|merger| merger.merge(&mut sources)).unwrap_or_default()
    }
}

impl LocalRound {
    /// Splits the message of a member, which has arrived for `span`, into its shares.
    pub fn arrived(&mut self, span: Span, mut message: Bytes) {
        let Some((member, shares)) = self.shares_at(span.offset) else { return };
        let arrived = shares.iter().map(|share| {
            let bytes = message.split_to((share.len as usize).min(message.len()));
            ((member, share.aggregator.0), bytes)
        });
        let arrived: Vec<_> = arrived.collect();
        self.arrived.extend(arrived);
    }

    /// In a read: the message from `span` to a member, once all its shares are there.
    pub fn message(&self, span: Span) -> Bytes {
        let Some((member, shares)) = self.shares_at(span.offset) else { return Bytes::new() };
        let part = |share: &Share| self.arrived.get(&(member, share.aggregator.0)).cloned().unwrap_or_default();
        match shares {
            [share] => part(share),
            _ => Bytes::from(shares.iter().map(part).collect::<Vec<_>>().concat()),
        }
    }

    /// The member whose message is at this offset of the gathered buffer, and its shares.
    fn shares_at(&self, offset: u64) -> Option<(usize, &[Share])> {
        let at = self.messages.binary_search_by_key(&offset, |(start, ..)| *start).ok()?;
        let (_, member, shares) = &self.messages[at];
        Some((*member, shares))
    }
}
