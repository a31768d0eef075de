//! One rank's part of a gather tree, and its schedule: some receives, then one send.
//!
//! The root receives every run straight into its place; any other rank puts the runs it receives and its own block side by
//! side, in rank order, and sends them on as one message. A leaf sends from where its block is. Nothing is reordered: the
//! one copy is that of a rank's own block, to where the others' arrive. The scatter is the transpose.

use super::tree::{Join, Run};
use crate::schedule::{Action, Buffer, Builder, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

/// The root's outstanding receives, where a threshold or the linear algorithm make them many.
const WINDOW: u32 = 32;

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
        let mut builder = Builder::default();
        let is_root = self.own.gatherer == self.root;
        let own = Span::new(Buffer::Send, 0, self.own.bytes);
        let mut before = Vec::new();
        let mut all = own;
        if is_root || !self.received.is_empty() {
            let buffer = if is_root { Buffer::Receive } else { Buffer::Stage(0) };
            let (place, mut chain) = self.places(buffer);
            chain.sort_by_key(|(action, _)| self.level(action));
            if own.len > 0 {
                before.push(builder.copy(own, place, &[]));
            }
            before.extend(builder.chain(&chain, Throttle::window(WINDOW), &[]));
            all = Span::new(buffer, 0, self.bytes());
        }
        if let Some(to) = self.to {
            builder.send(to, SendMode::Standard, all, &before);
        }
        builder.finish()
    }

    /// The scatter: the gather backwards, from the root's [`Buffer::Send`] to [`Buffer::Receive`].
    pub fn scatter(&self) -> Schedule {
        // Only a reduction has no transpose.
        self.gather().transposed(SendMode::Standard).unwrap_or_default()
    }

    /// The level at which this rank joins the cube of whom it receives from. A gather may take its messages in any order,
    /// but a scatter has to serve the largest cube, which has the longest way to go, first: the order backwards.
    fn level(&self, action: &Action) -> Option<u32> {
        let Action::Receive { from } = action else { return None };
        (from ^ self.own.gatherer).checked_ilog2()
    }

    /// Where the own block and those received lie in `buffer`.
    fn places(&self, buffer: Buffer) -> (Span, Vec<(Action, Span)>) {
        let before = self.received.partition_point(|run| run.first < self.own.first);
        let mut at = 0;
        let mut next = |bytes| {
            at += bytes;
            Span::new(buffer, at - bytes, bytes)
        };
        let mut place = |run: &Run| (Action::Receive { from: run.gatherer }, next(run.bytes));
        let mut chain: Vec<_> = self.received[..before].iter().map(&mut place).collect();
        let (_, own) = place(&self.own);
        chain.extend(self.received[before..].iter().map(place));
        (own, chain)
    }
}
