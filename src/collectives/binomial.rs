//! Binomial trees: the broadcast and the reduction of the engine's agreements.
//!
//! Ranks are counted from the root. Both take ceil(log2 p) steps. The laboratory compares them with other algorithms.

use super::part::{Part, or_before};
use crate::schedule::{Builder, OpId};

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

/// Adds a broadcast to a schedule: a rank receives from the rank without its lowest set bit, then sends to the ranks
/// with one more lower bit, the farthest first. p - 1 messages of m bytes: ceil(log2 p)(t_s + m t_w).
pub fn broadcast(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let (me, size) = (group.me(), group.size());
    let parent = me.checked_sub(lowest_bit(me, size));
    let arrived = parent.and_then(|parent| group.receive(builder, parent, part.message, before));
    let here = or_before(arrived.into_iter().collect(), before);
    for child in children(me, size).rev() {
        group.send(builder, child, part.message, &here);
    }
    here
}

/// Adds a reduction to a schedule: in step k, a rank with bit k set sends its partial result to the rank without that
/// bit, which combines the two; the sender is then finished. Every step has its own receive buffer, so messages may
/// arrive in any order. p - 1 messages of m bytes: ceil(log2 p)(t_s + m t_w + m t_c).
pub fn reduce(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let (me, size) = (group.me(), group.size());
    let mut last = before.to_vec();
    for (step, child) in children(me, size).enumerate() {
        let place = step as u64 * part.message.len;
        let combined = part.receive_and_combine(builder, &group, child, (part.message, place), (before, &last));
        last = or_before(combined.into_iter().collect(), &last);
    }
    let parent = me.checked_sub(lowest_bit(me, size));
    let sent = parent.and_then(|parent| group.send(builder, parent, part.message, &last));
    or_before(sent.into_iter().collect(), &last)
}
