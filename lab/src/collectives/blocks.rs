//! Binomial trees, and messages cut into blocks: the building blocks of the algorithms for long messages.
//!
//! Every function moves or combines blocks of one message; block i belongs to member i of a group. It returns the
//! operations that must finish before a next step may use or overwrite these blocks.

use crate::collectives::Group;
use crate::collectives::in_place::{InOrder, Part, or_before, segments};
use tributary::schedule::{Builder, OpId, Span};

/// Returns the lowest set bit of member `me` of `size`; for member 0, the power of two that spans all members. The
/// subtree of a member in a binomial tree is `me..me + lowest_bit`.
pub fn lowest_bit(me: usize, size: usize) -> usize {
    if me == 0 { size.next_power_of_two() } else { me & me.wrapping_neg() }
}

/// Returns the children of member `me` in the binomial tree, the nearest first.
pub fn children(me: usize, size: usize) -> impl DoubleEndedIterator<Item = usize> {
    let steps = lowest_bit(me, size).trailing_zeros();
    (0..steps).map(move |step| me + (1 << step)).filter(move |&child| child < size)
}

/// Division of a message into blocks of whole 8-byte words whose sizes differ by at most one word. The last block also
/// has the bytes behind the last whole word.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    message: Span,
    blocks: u64,
}

impl Cut {
    /// Cuts `message` into `blocks` blocks.
    pub fn new(message: Span, blocks: usize) -> Self {
        Self { message, blocks: blocks as u64 }
    }

    /// Returns the range of bytes of blocks `first..end`.
    pub fn span(&self, first: usize, end: usize) -> Span {
        let (from, to) = (self.begin(first as u64), self.begin(end as u64));
        Span::new(self.message.buffer, self.message.offset + from, to - from)
    }

    fn begin(&self, block: u64) -> u64 {
        let words = u128::from(self.message.len / 8);
        let value = (words * u128::from(block) / u128::from(self.blocks)) as u64;
        if block == self.blocks { self.message.len } else { value * 8 }
    }
}

/// Adds a scatter from member 0, which has all blocks, down the binomial tree: every member gets the blocks of its
/// subtree. log2 p t_s + (p - 1)/p m t_w.
pub fn scatter(group: &Group, cut: &Cut, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let (me, size) = (group.me(), group.size());
    let low = lowest_bit(me, size);
    let parent = me.checked_sub(low);
    let arrived = parent.and_then(|parent| group.receive(builder, parent, cut.span(me, below(me, size)), before));
    let here = or_before(arrived.into_iter().collect(), before);
    for child in children(me, size).rev() {
        group.send(builder, child, cut.span(child, below(child, size)), &here);
    }
    here
}

/// Adds a gather of all blocks up the binomial tree to member 0. log2 p t_s + (p - 1)/p m t_w.
pub fn gather(group: &Group, cut: &Cut, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let (me, size) = (group.me(), group.size());
    let mut here = before.to_vec();
    for child in children(me, size) {
        here.extend(group.receive(builder, child, cut.span(child, below(child, size)), before));
    }
    let parent = me.checked_sub(lowest_bit(me, size));
    let sent = parent.and_then(|parent| group.send(builder, parent, cut.span(me, below(me, size)), &here));
    here.extend(sent);
    here
}

/// Returns the end of the range `me..end` of members in the subtree of member `me`, in a binomial tree of `size`
/// members.
pub fn below(me: usize, size: usize) -> usize {
    (me + lowest_bit(me, size)).min(size)
}

/// Function (member, block, size of the group) that returns true if the member has the block before an allgather. A
/// block that a member has is not sent to that member.
pub type Has = fn(usize, usize, usize) -> bool;

/// Every member has only its own block before the allgather.
pub const OWN: Has = |member, block, _| member == block;

/// Every member has, before the allgather, the blocks that [`scatter`] gave it.
pub const SCATTERED: Has = |member, block, size| (member..below(member, size)).contains(&block);

/// Adds an allgather round the ring: in each step, every member sends the block that it received last to the next
/// member. (p - 1) t_s + (p - 1)/p m t_w.
pub fn ring_allgather(
    group: &Group,
    block: impl Fn(usize) -> Span,
    has: Has,
    builder: &mut Builder,
    before: &[OpId],
) -> Vec<OpId> {
    let (me, size) = (group.me(), group.size());
    let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
    let mut all = before.to_vec();
    let mut order = InOrder::new(before);
    let mut arrived = None;
    for step in 1..size {
        let (sent, received) = ((me + size - step + 1) % size, (me + size - step) % size);
        if !has(next, sent, size) {
            let after = order.after(builder, arrived.take()).to_vec();
            all.extend(group.send(builder, next, block(sent), &after));
        }
        if !has(me, received, size) {
            arrived = group.receive(builder, previous, block(received), before);
            all.extend(arrived);
        }
    }
    all
}

/// Adds an allgather at doubling distance: in step k, partners that differ in bit k exchange all blocks that they have.
/// The number of members must be a power of two. log2 p t_s + (p - 1)/p m t_w.
pub fn doubling_allgather(group: &Group, cut: &Cut, has: Has, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let (me, size) = (group.me(), group.size());
    let mut all = before.to_vec();
    let mut here = before.to_vec();
    for distance in (0..size.ilog2()).map(|step| 1 << step) {
        let partner = me ^ distance;
        let (mine, theirs) = (me & !(distance - 1), partner & !(distance - 1));
        if !has(partner, mine, size) {
            all.extend(group.send(builder, partner, cut.span(mine, mine + distance), &here));
        }
        if !has(me, theirs, size) {
            here.extend(group.receive(builder, partner, cut.span(theirs, theirs + distance), before));
        }
    }
    all.extend(&here[before.len()..]);
    all
}

/// Adds a reduce-scatter at halving distance: in each step, partners exchange halves of their blocks and combine the
/// half that they keep, until member i has block i, combined. The number of members must be a power of two. log2 p t_s
/// + (p - 1)/p m (t_w + t_c).
pub fn halving_reduce_scatter(
    part: &Part<'_>,
    group: &Group,
    cut: &Cut,
    builder: &mut Builder,
    before: &[OpId],
) -> Vec<OpId> {
    let me = group.me();
    let mut sends = Vec::new();
    let mut last = before.to_vec();
    for distance in (0..group.size().ilog2()).rev().map(|step| 1 << step) {
        let partner = me ^ distance;
        let (kept, given) = (me & !(distance - 1), partner & !(distance - 1));
        sends.extend(group.send(builder, partner, cut.span(given, given + distance), &last));
        let kept = cut.span(kept, kept + distance);
        let combined = part.receive_and_combine(builder, group, partner, (kept, 0), (&last, &[]));
        last = or_before(combined.into_iter().collect(), &last);
    }
    last.extend(sends);
    last
}

/// Adds a reduce-scatter round the ring, in segments: in each step, every member sends the block that it combined last
/// to the next member, until member i has block i, combined. A segment is sent as soon as it is combined. (p - 1)(t_s +
/// m/p (t_w + t_c)) for one segment a block.
pub fn ring_reduce_scatter(
    part: &Part<'_>,
    cut: &Cut,
    segment: u64,
    builder: &mut Builder,
    before: &[OpId],
) -> Vec<OpId> {
    let group = &part.group;
    let (me, size) = (group.me(), group.size());
    let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
    let pieces = |block: usize| segments(cut.span(block, block + 1), segment);
    let mut sends = Vec::new();
    let mut order = InOrder::new(before);
    // The last combination of every segment of a block. After it, the segment can be sent and its scratch space is free.
    let mut combined: Vec<Option<OpId>> = Vec::new();
    for step in 1..size {
        let sent = pieces((me + size - step) % size);
        let received = pieces((me + 2 * size - step - 1) % size);
        combined.resize(combined.len().max(sent.len()).max(received.len()), None);
        let ready: Vec<_> = combined.iter().map(|&combined| order.after(builder, combined).to_vec()).collect();
        for (span, after) in sent.into_iter().zip(&ready) {
            sends.extend(group.send(builder, next, span, after));
        }
        for (piece, (span, free)) in received.into_iter().zip(&ready).enumerate() {
            let place = piece as u64 * segment;
            combined[piece] = part.receive_and_combine(builder, group, previous, (span, place), (free, &[]));
        }
    }
    before.iter().copied().chain(combined.into_iter().flatten()).chain(sends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary::schedule::Buffer;

    #[test]
    fn blocks_are_the_message() {
        for (len, blocks) in [(0, 3), (8, 5), (100, 4), (7, 2), (8000, 33), (u64::MAX - 7, 1000)] {
            let cut = Cut::new(Span::new(Buffer::Receive, 4, len), blocks);
            let mut at = 4;
            for block in 0..blocks {
                let span = cut.span(block, block + 1);
                assert_eq!(span.offset, at);
                assert!(block + 1 == blocks || span.len.is_multiple_of(8));
                assert!(span.len.abs_diff(len / blocks as u64) < 16);
                at += span.len;
            }
            assert_eq!(at, 4u64.wrapping_add(len));
        }
    }

    #[test]
    fn a_binomial_tree_spans_all() {
        for size in 1..70 {
            let mut parents = vec![0; size];
            for me in 0..size {
                children(me, size).for_each(|child| parents[child] += 1);
                assert!(children(me, size).all(|child| child - lowest_bit(child, size) == me));
            }
            assert_eq!((parents[0], parents.iter().sum::<usize>()), (0, size - 1));
        }
    }
}
