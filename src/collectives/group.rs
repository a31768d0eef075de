//! Some ranks in an order, as one of them sees them: what an algorithm numbers 0, 1, ... and sends to.
//!
//! A group is a size, an own place and a function from members to ranks, so that groups of groups (rotated to a root,
//! folded to a power of two, the leaders, the inside) cost O(1) to make and no lists.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::schedule::{Builder, OpId, SendMode, Span};
use crate::topology::Rank;

/// See the module. The rank that holds it is a member.
#[derive(Clone)]
pub struct Group {
    size: usize,
    me: usize,
    /// `None` for all ranks in rank order.
    rank_of: Option<Rc<dyn Fn(usize) -> Rank>>,
}

impl Group {
    /// All ranks, in rank order.
    pub fn world(rank: Rank, ranks: usize) -> Self {
        Self { size: ranks, me: rank, rank_of: None }
    }

    /// Some members of this group, of which this rank is number `me`: `member` gives their numbers here.
    pub fn part(&self, size: usize, me: usize, member: impl Fn(usize) -> usize + 'static) -> Self {
        let rank_of: Rc<dyn Fn(usize) -> Rank> = match self.rank_of.clone() {
            Some(rank_of) => Rc::new(move |index| rank_of(member(index))),
            None => Rc::new(member),
        };
        Self { size, me, rank_of: Some(rank_of) }
    }

    /// These ranks in this order, of which this one is number `me`.
    pub fn of(members: Arc<[Rank]>, me: usize) -> Self {
        let (size, rank_of) = (members.len(), move |index: usize| members[index]);
        Self { size, me, rank_of: Some(Rc::new(rank_of)) }
    }

    /// Whether this is [`Group::world`].
    pub fn is_world(&self) -> bool {
        self.rank_of.is_none()
    }

    /// The same members, counted from `first`.
    pub fn rotated(&self, first: usize) -> Self {
        if first == 0 {
            return self.clone();
        }
        let size = self.size;
        self.part(size, (self.me + size - first) % size, move |index| (index + first) % size)
    }

    /// How many members there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Which of them this rank is.
    pub fn me(&self) -> usize {
        self.me
    }

    /// The rank of a member.
    pub fn rank_of(&self, member: usize) -> Rank {
        self.rank_of.as_ref().map_or(member, |rank_of| rank_of(member))
    }

    /// Adds a send to a member; nothing for no bytes.
    pub fn send(&self, builder: &mut Builder, to: usize, span: Span, after: &[OpId]) -> Option<OpId> {
        (span.len > 0).then(|| builder.send(self.rank_of(to), SendMode::Standard, span, after))
    }

    /// Adds a receive from a member; nothing for no bytes.
    pub fn receive(&self, builder: &mut Builder, from: usize, span: Span, after: &[OpId]) -> Option<OpId> {
        (span.len > 0).then(|| builder.receive(self.rank_of(from), span, after))
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("size", &self.size).field("me", &self.me).finish_non_exhaustive()
    }
}
