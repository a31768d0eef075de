//! Split-binary tree broadcast: half of the message goes down each of two binary trees, then partners exchange halves.
//!
//! The odd members after the root form one tree, the even ones the other; members 2 i + 1 and 2 i + 2 are partners. If
//! the last member has no partner, the root sends it the other half. 2 (p - 1) messages of m / 2 bytes.
//!
//! Full trees take (2 log2(p + 1) - 1)(t_s + m/2 t_w): the root's two messages, twice log2(p + 1) - 2 on the way down,
//! one exchange. Hasanov, thesis, 2.3.1.2, equation 2.6 has two messages fewer: it omits the root's.

use crate::collectives::Group;
use crate::collectives::blocks::Cut;
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId, Span};

/// Split-binary tree broadcast (see the module).
pub static SPLIT_BINARY: InPlace = in_place!(Broadcast {
    name: "split_binary",
    about: "half the message down each of two binary trees, then partners exchange halves",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.6",
    cost: "(2 log2(p + 1) - 1)(t_s + m/2 t_w)",
    append: append,
    // Equation 2.6 and the root's two messages.
    time: |rates, ranks, bytes, _| {
        if ranks < 2.0 { 0.0 } else { (2.0 * (ranks + 1.0).log2() - 1.0) * rates.message(bytes / 2.0) }
    },
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let cut = Cut::new(part.message, 2);
    let halves = [cut.span(0, 1), cut.span(1, 2)];
    if group.me() > 0 {
        return below_the_root(&group, halves, builder, before);
    }
    for (child, half) in (1..group.size()).zip(halves) {
        group.send(builder, child, half, before);
    }
    if group.size().is_multiple_of(2) {
        group.send(builder, group.size() - 1, halves[1], before);
    }
    before.to_vec()
}

fn below_the_root(group: &Group, halves: [Span; 2], builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let (me, size) = (group.me(), group.size());
    let (side, place) = ((me - 1) % 2, (me - 1) / 2);
    let member = |place: usize| 2 * place + 1 + side;
    let parent = if place == 0 { 0 } else { member((place - 1) / 2) };
    let arrived: Vec<_> = group.receive(builder, parent, halves[side], before).into_iter().collect();
    let here = or_before(arrived, before);
    for child in [member(2 * place + 1), member(2 * place + 2)].into_iter().filter(|&child| child < size) {
        group.send(builder, child, halves[side], &here);
    }
    let partner = if side == 1 { me - 1 } else { (me + 1) % size };
    if partner > 0 {
        group.send(builder, partner, halves[side], &here);
    }
    let other = group.receive(builder, partner, halves[1 - side], before);
    here.into_iter().chain(other).collect()
}
