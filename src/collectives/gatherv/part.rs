//! One rank's part of a gather tree, and its schedule: some receives, then one send.
//!
//! The root receives every run straight into its place; any other rank puts the runs it receives and its own block side by
//! side, in rank order, and sends them on as one message. A leaf sends from where its block is. Nothing is reordered: the
//! one copy is that of a rank's own block, to where the others' arrive. The scatter is the transpose.

use super::gathering::{Gathering, backwards};
use super::tree::{Join, Run};
use crate::collectives::group::Group;
use crate::collectives::in_place::or_before;
use crate::schedule::{Action, Buffer, Builder, OpId, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

/// The root's outstanding receives, where a threshold or the linear algorithm make them many.
const WINDOW: u32 = 32;

/// How the messages of a part go.
#[derive(Debug)]
pub struct Leg<'a> {
    /// Among whom: the part counts by its members' numbers.
    pub group: &'a Group,
    /// How the one send goes.
    pub mode: SendMode,
    /// Limits the receives.
    pub throttle: Throttle,
}

impl<'a> Leg<'a> {
    /// Plain sends; as many receives as a gather posts at once.
    fn new(group: &'a Group) -> Self {
        Self { group, mode: SendMode::Standard, throttle: Throttle::window(WINDOW) }
    }
}

/// One rank's part of a gather or scatter along a tree. Good for any number of runs with the same sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// This rank's own block.
    pub own: Run,
    /// Where the tree ends.
    pub root: Rank,
    /// What this rank receives, in rank order; none of them is empty.
    pub received: Vec<Run>,
    /// To whom it then sends, if it has anything to send.
    pub to: Option<Rank>,
}

impl Part {
    /// A part with nothing in it but the rank's own block.
    pub fn new(rank: Rank, root: Rank, bytes: u64) -> Self {
        Self { own: Run::own(rank, bytes), root, received: Vec::new(), to: None }
    }

    /// The part of `rank` in the tree of `joins`.
    pub fn of(rank: Rank, root: Rank, bytes: u64, joins: &[Join]) -> Self {
        let mut part = Self::new(rank, root, bytes);
        part.received.extend(joins.iter().filter(|join| join.to == rank).map(|join| join.sent));
        part.received.sort_unstable_by_key(|run| run.first);
        part.to = joins.iter().find(|join| join.sent.gatherer == rank).map(|join| join.to);
        part
    }

    /// Bytes that pass through this rank: its own and all it receives; at the root, all.
    pub fn bytes(&self) -> u64 {
        self.own.bytes + self.received.iter().map(|run| run.bytes).sum::<u64>()
    }

    /// The gather: from [`Buffer::Send`] to the root's [`Buffer::Receive`]. O(received).
    pub fn gather(&self) -> Schedule {
        // Numbers are ranks.
        self.gather_among(&Group::world(self.own.gatherer, self.own.gatherer + 1))
    }

    /// The same where this part counts by the numbers of a group's members.
    pub fn gather_among(&self, group: &Group) -> Schedule {
        let buffer = if self.is_root() { Buffer::Receive } else { Buffer::Stage(0) };
        let mut builder = Builder::default();
        self.append_in(buffer, &Leg::new(group), &mut builder);
        builder.finish()
    }

    /// The scatter: the gather backwards, from the root's [`Buffer::Send`] to [`Buffer::Receive`].
    pub fn scatter(&self) -> Schedule {
        backwards(self.gather())
    }

    /// Adds the gather from the start of [`Buffer::Send`], by way of `buffer`; returns what is there when all that this rank
    /// receives has arrived.
    pub fn append_in(&self, buffer: Buffer, leg: &Leg<'_>, builder: &mut Builder) -> Vec<OpId> {
        let own = Span::new(Buffer::Send, 0, self.own.bytes);
        let (here, all) = self.receive(own, || Span::new(buffer, 0, self.bytes()), leg, builder, &[]);
        self.send(all, leg, builder, &here);
        here
    }

    /// Adds the gather among the members of a group, by whose numbers this part counts; see [`super::gathering`].
    pub fn append(&self, gathering: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let leg = Leg::new(&gathering.group);
        let side_by_side = || if self.is_root() { gathering.into } else { gathering.passing(self.bytes()) };
        let (here, all) = self.receive(gathering.own, side_by_side, &leg, builder, before);
        let here = or_before(here, before);
        self.send(all, &leg, builder, &here).map_or(here, |sent| vec![sent])
    }

    fn is_root(&self) -> bool {
        self.own.gatherer == self.root
    }

    /// Adds the receives and the copy of the own block to its place; returns them, and where all lies then.
    fn receive(
        &self,
        own: Span,
        side_by_side: impl FnOnce() -> Span,
        leg: &Leg<'_>,
        builder: &mut Builder,
        before: &[OpId],
    ) -> (Vec<OpId>, Span) {
        if !self.is_root() && self.received.is_empty() {
            return (Vec::new(), own);
        }
        let all = side_by_side();
        let (place, mut runs) = self.places(all);
        // A gather may take its messages in any order, but a scatter has to serve the largest subtree, which has the longest
        // way to go, first: the order backwards.
        runs.sort_by_key(|(run, _)| run.end - run.first);
        let mut here = Vec::new();
        if own.len > 0 && own != place {
            here.push(builder.copy(own, place, before));
        }
        let receive = |(run, span): &(Run, Span)| (Action::Receive { from: leg.group.rank_of(run.gatherer) }, *span);
        let chain: Vec<_> = runs.iter().map(receive).collect();
        here.extend(builder.chain(&chain, leg.throttle, before));
        (here, all)
    }

    /// Adds the one send, if there is anything to send.
    fn send(&self, all: Span, leg: &Leg<'_>, builder: &mut Builder, before: &[OpId]) -> Option<OpId> {
        self.to.map(|to| builder.send(leg.group.rank_of(to), leg.mode, all, before))
    }

    /// Where the own block and the runs received lie in `all`.
    fn places(&self, all: Span) -> (Span, Vec<(Run, Span)>) {
        let before = self.received.partition_point(|run| run.first < self.own.first);
        let mut at = all.offset;
        let mut next = |bytes| {
            at += bytes;
            Span::new(all.buffer, at - bytes, bytes)
        };
        let mut place = |run: &Run| (*run, next(run.bytes));
        let mut runs: Vec<_> = self.received[..before].iter().map(&mut place).collect();
        let (_, own) = place(&self.own);
        runs.extend(self.received[before..].iter().map(place));
        (own, runs)
    }
}
