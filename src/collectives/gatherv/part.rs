//! One rank's part of a gather tree, and its schedule: some receives, then one send.
//!
//! The root receives every run straight into its place; any other rank puts the runs it receives and its own block side by
//! side, in rank order, and sends them on as one message. A leaf sends from where its block is. Nothing is reordered: the
//! one copy is that of a rank's own block, to where the others' arrive. The scatter is the transpose.

use super::tree::{Join, Run};
use crate::collectives::Group;
use crate::schedule::{Action, Buffer, Builder, OpId, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

/// The root's outstanding receives, where a threshold or the linear algorithm make them many.
const WINDOW: u32 = 32;

/// How the messages of a part go.
#[derive(Debug)]
pub struct Leg<'a> {
    /// Among whom, if the part's ranks are numbers of members.
    pub group: Option<&'a Group>,
    /// Where the runs that arrive and the own block lie side by side.
    pub buffer: Buffer,
    /// How the one send goes.
    pub mode: SendMode,
    /// Limits the receives.
    pub throttle: Throttle,
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
        self.gather_in(None)
    }

    /// The same where this part's ranks are numbers of members of `group`.
    pub fn gather_among(&self, group: &Group) -> Schedule {
        self.gather_in(Some(group))
    }

    fn gather_in(&self, group: Option<&Group>) -> Schedule {
        let mut builder = Builder::default();
        let buffer = if self.is_root() { Buffer::Receive } else { Buffer::Stage(0) };
        let leg = Leg { group, buffer, mode: SendMode::Standard, throttle: Throttle::window(WINDOW) };
        self.append(&mut builder, &leg);
        builder.finish()
    }

    /// Appends the gather to a schedule; returns what is there when all has arrived. This rank's own block comes from the
    /// start of [`Buffer::Send`].
    pub fn append(&self, builder: &mut Builder, leg: &Leg<'_>) -> Vec<OpId> {
        let own = Span::new(Buffer::Send, 0, self.own.bytes);
        let rank_of = |member: usize| leg.group.map_or(member, |group| group.rank_of(member));
        let mut before = Vec::new();
        let mut all = own;
        if self.is_root() || !self.received.is_empty() {
            let (place, mut places) = self.places(leg.buffer);
            places.sort_by_key(|(from, _)| self.level(*from));
            if own.len > 0 {
                before.push(builder.copy(own, place, &[]));
            }
            let receive = |&(from, span): &(usize, Span)| (Action::Receive { from: rank_of(from) }, span);
            let chain: Vec<_> = places.iter().map(receive).collect();
            before.extend(builder.chain(&chain, leg.throttle, &[]));
            all = Span::new(leg.buffer, 0, self.bytes());
        }
        if let Some(to) = self.to {
            builder.send(rank_of(to), leg.mode, all, &before);
        }
        before
    }

    fn is_root(&self) -> bool {
        self.own.gatherer == self.root
    }

    /// The scatter: the gather backwards, from the root's [`Buffer::Send`] to [`Buffer::Receive`].
    pub fn scatter(&self) -> Schedule {
        // Only a reduction has no transpose.
        self.gather().transposed(SendMode::Standard).unwrap_or_default()
    }

    /// The level at which this rank joins the cube of whom it receives from. A gather may take its messages in any order,
    /// but a scatter has to serve the largest cube, which has the longest way to go, first: the order backwards.
    fn level(&self, from: usize) -> Option<u32> {
        (from ^ self.own.gatherer).checked_ilog2()
    }

    /// Where the own block and those received lie in `buffer`.
    fn places(&self, buffer: Buffer) -> (Span, Vec<(usize, Span)>) {
        let before = self.received.partition_point(|run| run.first < self.own.first);
        let mut at = 0;
        let mut next = |bytes| {
            at += bytes;
            Span::new(buffer, at - bytes, bytes)
        };
        let mut place = |run: &Run| (run.gatherer, next(run.bytes));
        let mut places: Vec<_> = self.received[..before].iter().map(&mut place).collect();
        let (_, own) = place(&self.own);
        places.extend(self.received[before..].iter().map(place));
        (own, places)
    }
}
