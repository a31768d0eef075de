//! An ordered group of ranks, as one member sees it. Algorithms number the members 0, 1, ....
//!
//! A group is a size, the number of this rank, and a function from member numbers to ranks. So a group of a group
//! (rotated to a root, folded to a power of two, the leaders, the members of one node) takes O(1) time and no list.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use tributary::schedule::{Builder, OpId, SendMode, Span};
use tributary::topology::Rank;

/// An ordered group of ranks, of which this rank is a member.
#[derive(Clone)]
pub struct Group {
    size: usize,
    me: usize,
    /// Returns the rank of a member; `None` if the group is all ranks in rank order.
    rank_of: Option<Rc<dyn Fn(usize) -> Rank>>,
}

impl Group {
    /// Returns the group of all ranks, in rank order.
    pub fn world(rank: Rank, ranks: usize) -> Self {
        Self { size: ranks, me: rank, rank_of: None }
    }

    /// Returns a subgroup of `size` members, in which this rank has number `me`. `member` maps a number in the subgroup
    /// to a number in this group.
    pub fn part(&self, size: usize, me: usize, member: impl Fn(usize) -> usize + 'static) -> Self {
        let rank_of: Rc<dyn Fn(usize) -> Rank> = match self.rank_of.clone() {
            Some(rank_of) => Rc::new(move |index| rank_of(member(index))),
            None => Rc::new(member),
        };
        Self { size, me, rank_of: Some(rank_of) }
    }

    /// Returns the group of `members` in their order, in which this rank has number `me`.
    pub fn from_members(members: Arc<[Rank]>, me: usize) -> Self {
        let (size, rank_of) = (members.len(), move |index: usize| members[index]);
        Self { size, me, rank_of: Some(Rc::new(rank_of)) }
    }

    /// Returns true if this is [`Group::world`].
    pub fn is_world(&self) -> bool {
        self.rank_of.is_none()
    }

    /// Returns the same members, numbered from member `first` on and wrapping around.
    pub fn rotated(&self, first: usize) -> Self {
        if first == 0 {
            return self.clone();
        }
        let size = self.size;
        self.part(size, (self.me + size - first) % size, move |index| (index + first) % size)
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns this rank's member number.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Returns the rank of a member.
    pub fn rank_of(&self, member: usize) -> Rank {
        self.rank_of.as_ref().map_or(member, |rank_of| rank_of(member))
    }

    /// Adds a send to a member; adds nothing and returns `None` for an empty span.
    pub fn send(&self, builder: &mut Builder, to: usize, span: Span, after: &[OpId]) -> Option<OpId> {
        (span.len > 0).then(|| builder.send(self.rank_of(to), SendMode::Standard, span, after))
    }

    /// Adds a receive from a member; adds nothing and returns `None` for an empty span.
    pub fn receive(&self, builder: &mut Builder, from: usize, span: Span, after: &[OpId]) -> Option<OpId> {
        (span.len > 0).then(|| builder.receive(self.rank_of(from), span, after))
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("size", &self.size).field("me", &self.me).finish_non_exhaustive()
    }
}
