//! A local aggregator in the data phase: its members' bytes in, merged messages out; or, in a read, the other way.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::drivers::Domains;
use crate::engine::data::flow::{Agenda, Flow};
use crate::engine::metadata::LocalPlan;
use crate::engine::two_layer::merge::Merger;
use crate::error::{Error, Result};
use crate::exchange::ReceiverIndex;
use crate::exchange::two_layer::Share;
use crate::schedule::Span;
use crate::topology::Rank;

/// The cursors of a local aggregator over all rounds.
pub struct LocalAggregation {
    members: Vec<Rank>,
    /// Flow and member index; the sizes of what members send.
    flows: Vec<(usize, Flow)>,
    agenda: Agenda,
    mergers: BTreeMap<usize, Merger>,
    /// Index of this rank among the members, if it writes anything: always the first.
    own: Option<usize>,
}

/// One round of it.
#[derive(Debug, Default)]
pub struct LocalRound {
    /// The other members that send in this round, with their shares, ascending.
    pub members: Vec<(Rank, Vec<Share>)>,
    /// (address in the gathered buffer, member index, shares) of each message.
    messages: Vec<(u64, usize, Vec<Share>)>,
    /// (address in the merged buffer, aggregator) of each merged message.
    merged: Vec<(u64, usize)>,
    /// What each member has for (or, in a read, gets from) each aggregator, as it arrives.
    arrived: BTreeMap<(usize, usize), Bytes>,
}

impl LocalAggregation {
    /// At the first round; `own` rank is the lowest member.
    pub fn new(relay: &LocalPlan, own: Rank, domains: &Domains) -> Self {
        let mut all = Self {
            members: relay.members.iter().map(|(rank, _)| *rank).collect(),
            flows: Vec::new(),
            agenda: Agenda::default(),
            mergers: relay.merged.iter().map(|merged| (merged.aggregator, Merger::new(merged))).collect(),
            own: relay.members.iter().position(|(rank, _)| *rank == own),
        };
        for (member, (_, lists)) in relay.members.iter().enumerate() {
            for (aggregator, packed) in lists {
                let flow = Flow::new(*aggregator, packed.clone());
                all.agenda.file(all.flows.len(), &flow, domains);
                all.flows.push((member, flow));
            }
        }
        all
    }

    /// The next round that any member has data for.
    pub fn next_round(&self) -> Option<u64> {
        self.agenda.next_round()
    }

    /// Opens a round: who sends what.
    pub fn round(&mut self, round: u64, domains: &Domains) -> LocalRound {
        let mut shares: BTreeMap<usize, Vec<Share>> = BTreeMap::new();
        let mut totals: BTreeMap<usize, u64> = BTreeMap::new();
        // Flows are filed member by member, each by ascending aggregator, so both orders come out right.
        for id in self.agenda.take(round) {
            let (member, flow) = &mut self.flows[id];
            let Some(window) = flow.window(domains) else { continue };
            let share = Share { aggregator: ReceiverIndex(flow.aggregator()), len: flow.pass(&window).bytes };
            shares.entry(*member).or_default().push(share);
            *totals.entry(share.aggregator.0).or_default() += share.len;
            self.agenda.file(id, flow, domains);
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

    /// A merged message of a read has arrived at address `at`: deals it back into what each member asked for.
    ///
    /// # Errors
    /// A message that is not what was announced: no other rank knows of it.
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

    /// What this rank itself asked of an aggregator, once it has been dealt back.
    pub fn own_part(&self, round: &LocalRound, aggregator: usize) -> Bytes {
        let part = self.own.and_then(|own| round.arrived.get(&(own, aggregator)));
        part.cloned().unwrap_or_default()
    }

    /// The merged message at address `at`; `own` gives what this rank itself has for an aggregator.
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
    /// What one member, or several that follow one another, sent for `span` has arrived: cuts it into their shares.
    pub fn arrived(&mut self, span: Span, mut message: Bytes) {
        let arrived = self.shares_in(span).map(|(member, share)| {
            let bytes = message.split_to((share.len as usize).min(message.len()));
            ((member, share.aggregator.0), bytes)
        });
        let arrived: Vec<_> = arrived.collect();
        self.arrived.extend(arrived);
    }

    /// The message of a read from `span`, to one member or for several that follow one another: their shares, once all of
    /// them have been dealt back.
    pub fn message(&self, span: Span) -> Bytes {
        let part = |(member, share): (usize, &Share)| self.arrived.get(&(member, share.aggregator.0)).cloned();
        let mut parts: Vec<Bytes> = self.shares_in(span).map(|share| part(share).unwrap_or_default()).collect();
        match parts.len() {
            1 => parts.remove(0),
            _ => Bytes::from(parts.concat()),
        }
    }

    /// The shares of the messages in `span` of the gathered buffer, with the members' indices.
    fn shares_in(&self, span: Span) -> impl Iterator<Item = (usize, &Share)> {
        let first = self.messages.partition_point(|(start, ..)| *start < span.offset);
        let of_span = self.messages[first..].iter().take_while(move |(start, ..)| *start < span.offset + span.len);
        of_span.flat_map(|(_, member, shares)| shares.iter().map(|share| (*member, share)))
    }
}
