//! Flat tree reduction: the root receives from one rank after the other, and combines.
//!
//! p - 1 messages of m bytes into a buffer of m bytes: (p - 1)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1, equation
//! 2.10).

use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId, Span};

/// Flat tree reduction (see the module).
pub static FLAT: InPlace = in_place!(Reduce {
    name: "flat",
    about: "the root receives from one rank after the other",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.10",
    cost: "(p - 1)(t_s + m t_w + m t_c)",
    append: |part, builder, before| one_by_one(part, &[part.message], builder, before),
    time: |rates, ranks, bytes, _| (ranks - 1.0) * rates.combined(bytes),
});

/// Adds the reduction in which the root receives all pieces of one rank, then all pieces of the next.
pub(super) fn one_by_one(part: &Part<'_>, pieces: &[Span], builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    if group.me() > 0 {
        let sent = pieces.iter().filter_map(|&piece| group.send(builder, 0, piece, before)).collect();
        return or_before(sent, before);
    }
    let mut last = before.to_vec();
    for (member, &piece) in (1..group.size()).flat_map(|member| pieces.iter().map(move |piece| (member, piece))) {
        let combined = part.receive_and_combine(builder, &group, member, (piece, 0), (&last, &[]));
        last = or_before(combined.into_iter().collect(), &last);
    }
    last
}
