//! In-order binary tree reduction: every rank combines the result of the ranks before it, its own words, and the result
//! of the ranks after it.
//!
//! The words are combined in rank order whatever the root, which operators that do not commute need. The root is the
//! top of the tree; its children are the middle of the ranks before it and the middle of those after it. p - 1 messages
//! of m bytes into two buffers. At most 2 (log2(p + 1) - 1)(t_s + m t_w + m t_c) for a full tree, which has the root in
//! the middle (Hasanov, thesis, 2.3.2.1, equation 2.14 with one segment); any other root costs at most two steps more.

use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// In-order binary tree reduction (see the module).
pub static IN_ORDER_BINARY: InPlace = in_place!(Reduce {
    name: "in_order_binary",
    about: "up a binary tree that keeps the ranks in order",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.14",
    cost: "2 (log2(p + 1) - 1)(t_s + m t_w + m t_c)",
    append: append,
    // Equation 2.14 with one segment.
    time: |rates, ranks, bytes, _| 2.0 * ((ranks + 1.0).log2() - 1.0) * rates.combined(bytes),
});

/// Parent and children of one member in the tree.
#[derive(Debug, PartialEq, Eq)]
struct Neighbours {
    parent: Option<usize>,
    /// Child among the members before this one.
    left: Option<usize>,
    /// Child among the members after this one.
    right: Option<usize>,
}

/// Returns the neighbours of member `me`, found by walking down from the root. O(log size).
fn neighbours(me: usize, root: usize, size: usize) -> Neighbours {
    let (mut from, mut end, mut top, mut parent) = (0, size, root, None);
    while top != me {
        (from, end) = if me < top { (from, top) } else { (top + 1, end) };
        (parent, top) = (Some(top), usize::midpoint(from, end));
    }
    let middle = |from: usize, end: usize| (from < end).then(|| usize::midpoint(from, end));
    Neighbours { parent, left: middle(from, me), right: middle(me + 1, end) }
}

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = &part.group;
    let len = part.message.len;
    let tree = neighbours(group.me(), part.root, group.size());
    let places = [part.scratch(0, len), part.scratch(len, len)];
    let left = tree.left.and_then(|left| group.receive(builder, left, places[0], before));
    let right = tree.right.and_then(|right| group.receive(builder, right, places[1], before));
    // The partial result replaces the first operand.
    let partial = if left.is_some() { places[0] } else { part.message };
    let mut last = before.to_vec();
    if let Some(left) = left {
        last.push(left);
        last = or_before(part.combine(builder, 0, part.message, partial, &last).into_iter().collect(), &last);
    }
    if let Some(right) = right {
        last.push(right);
        last = or_before(part.combine(builder, 0, places[1], partial, &last).into_iter().collect(), &last);
    }
    let moved = match tree.parent {
        Some(parent) => group.send(builder, parent, partial, &last),
        None => left.is_some().then(|| builder.copy(partial, part.message, &last)),
    };
    or_before(moved.into_iter().collect(), &last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_a_few_steps_below_the_root() {
        for size in 1..70 {
            for root in 0..size {
                for me in 0..size {
                    let (mut at, mut depth) = (me, 0);
                    while let Some(parent) = neighbours(at, root, size).parent {
                        let above = neighbours(parent, root, size);
                        assert_eq!(if at < parent { above.left } else { above.right }, Some(at));
                        (at, depth) = (parent, depth + 1);
                    }
                    assert_eq!(at, root);
                    assert!(depth <= 1 + size.ilog2(), "{depth} of {size}");
                }
            }
        }
    }
}
