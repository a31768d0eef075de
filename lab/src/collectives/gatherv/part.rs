//! One rank's part of a gather tree, and its schedule: some receives, then one send.
//!
//! The root receives every run into its final place. Any other rank receives runs next to its own block, in rank order,
//! and forwards them as one message. A leaf sends its block from where it is. The only copy is that of a rank's own
//! block, next to the runs that it receives. The scatter is the transpose.

use super::gathering::{Gathering, backwards};
use super::tree::{Join, Run};
use crate::collectives::Group;
use crate::collectives::in_place::or_before;
use tributary::schedule::{Action, Buffer, Builder, OpId, Schedule, SendMode, Span, Throttle};
use tributary::topology::Rank;

/// Maximum number of receives that the root has outstanding.
const OUTSTANDING: u32 = 32;

/// Settings of the messages of one rank's part of a gather tree.
#[derive(Debug)]
pub struct PartMessages<'a> {
    /// Group whose member numbers the part uses.
    pub group: &'a Group,
    /// Mode of the send.
    pub mode: SendMode,
    /// Throttle of the receives.
    pub throttle: Throttle,
}

impl<'a> PartMessages<'a> {
    /// Creates settings with standard sends and a sliding limit on the outstanding receives.
    fn new(group: &'a Group) -> Self {
        Self { group, mode: SendMode::Standard, throttle: Throttle::sliding(OUTSTANDING) }
    }
}

/// One rank's part of a gather or scatter along a tree. It serves any number of gathers with the same sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatherPart {
    /// Run with only this rank's own block.
    pub own: Run,
    /// Root of the tree.
    pub root: Rank,
    /// Runs that this rank receives, in rank order; none is empty.
    pub received: Vec<Run>,
    /// Rank that receives this rank's message; `None` if this rank sends nothing.
    pub to: Option<Rank>,
}

impl GatherPart {
    /// Creates a part with the rank's own block of `bytes` bytes only.
    pub fn new(rank: Rank, root: Rank, bytes: u64) -> Self {
        Self { own: Run::own(rank, bytes), root, received: Vec::new(), to: None }
    }

    /// Creates the part of `rank` in the tree of `joins`.
    pub fn of(rank: Rank, root: Rank, bytes: u64, joins: &[Join]) -> Self {
        let mut part = Self::new(rank, root, bytes);
        part.received.extend(joins.iter().filter(|join| join.to == rank).map(|join| join.sent));
        part.received.sort_unstable_by_key(|run| run.first);
        part.to = joins.iter().find(|join| join.sent.gatherer == rank).map(|join| join.to);
        part
    }

    /// Returns the number of bytes of this rank's own block and of all runs that it receives.
    pub fn bytes(&self) -> u64 {
        self.own.bytes + self.received.iter().map(|run| run.bytes).sum::<u64>()
    }

    /// Returns the schedule of the gather, from [`Buffer::Send`] to the root's [`Buffer::Receive`]. O(received).
    pub fn gather(&self) -> Schedule {
        // In a world group, member numbers are ranks.
        self.gather_among(&Group::world(self.own.gatherer, self.own.gatherer + 1))
    }

    /// Returns the schedule of the gather, like [`GatherPart::gather`], for a part whose ranks are member numbers of
    /// `group`.
    pub fn gather_among(&self, group: &Group) -> Schedule {
        let buffer = if self.is_root() { Buffer::Receive } else { Buffer::Stage(0) };
        let mut builder = Builder::default();
        self.append_in(buffer, &PartMessages::new(group), &mut builder);
        builder.finish()
    }

    /// Returns the schedule of the scatter, the transpose of the gather: from the root's [`Buffer::Send`] to
    /// [`Buffer::Receive`].
    pub fn scatter(&self) -> Schedule {
        backwards(self.gather())
    }

    /// Adds the gather of the own block at the start of [`Buffer::Send`]; `buffer` holds the gathered blocks. Returns
    /// the operations after which all blocks that this rank receives have arrived.
    pub fn append_in(&self, buffer: Buffer, messages: &PartMessages<'_>, builder: &mut Builder) -> Vec<OpId> {
        let own = Span::new(Buffer::Send, 0, self.own.bytes);
        let (here, all) = self.receive(own, || Span::new(buffer, 0, self.bytes()), messages, builder, &[]);
        self.send(all, messages, builder, &here);
        here
    }

    /// Adds the gather as a step of a hierarchy; see [`super::gathering`].
    pub fn append(&self, gathering: &Gathering<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
        let messages = PartMessages::new(&gathering.group);
        let gathered_space = || if self.is_root() { gathering.into } else { gathering.forwarded(self.bytes()) };
        let (here, all) = self.receive(gathering.own, gathered_space, &messages, builder, before);
        let here = or_before(here, before);
        self.send(all, &messages, builder, &here).map_or(here, |sent| vec![sent])
    }

    fn is_root(&self) -> bool {
        self.own.gatherer == self.root
    }

    /// Adds the receives and the copy of the own block. Returns these operations, and the range of all blocks.
    fn receive(
        &self,
        own: Span,
        gathered_space: impl FnOnce() -> Span,
        messages: &PartMessages<'_>,
        builder: &mut Builder,
        before: &[OpId],
    ) -> (Vec<OpId>, Span) {
        if !self.is_root() && self.received.is_empty() {
            return (Vec::new(), own);
        }
        let all = gathered_space();
        let (place, mut runs) = self.places(all);
        // The order of receives does not matter for a gather. A scatter, which reverses it, has to serve the largest subtree
        // first, because it takes the longest.
        runs.sort_by_key(|(run, _)| run.end - run.first);
        let mut here = Vec::new();
        if own.len > 0 && own != place {
            here.push(builder.copy(own, place, before));
        }
        let receive =
            |(run, span): &(Run, Span)| (Action::Receive { from: messages.group.rank_of(run.gatherer) }, *span);
        let chain: Vec<_> = runs.iter().map(receive).collect();
        here.extend(builder.chain(&chain, messages.throttle, before));
        (here, all)
    }

    /// Adds the send to the parent in the tree, if this rank has something to send.
    fn send(&self, all: Span, messages: &PartMessages<'_>, builder: &mut Builder, before: &[OpId]) -> Option<OpId> {
        self.to.map(|to| builder.send(messages.group.rank_of(to), messages.mode, all, before))
    }

    /// Returns the ranges of this rank's own block and of the received runs in `all`.
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
