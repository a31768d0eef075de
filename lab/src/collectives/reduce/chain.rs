//! Chain (linear tree) reduction: starting with the last rank, every rank combines the message of the rank after it
//! with its own and sends the result on.
//!
//! p - 1 messages of m bytes one after the other: (p - 1)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1, equation
//! 2.12).

use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId, Span};

/// Chain reduction (see the module).
pub static CHAIN: InPlace = in_place!(Reduce {
    name: "chain",
    about: "every rank combines what the next has, and sends on",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.12",
    cost: "(p - 1)(t_s + m t_w + m t_c)",
    append: |part, builder, before| up(part, 1, &[part.message], builder, before),
    time: |rates, ranks, bytes, _| (ranks - 1.0) * rates.combined(bytes),
});

/// Adds the reduction of the segments, one after another, up the tree in which member i has the children `arity` i + 1
/// to `arity` i + `arity`. A member sends a segment as soon as it is complete. The receive buffer has m / X bytes.
pub(super) fn up(
    part: &Part<'_>,
    arity: usize,
    segments: &[Span],
    builder: &mut Builder,
    before: &[OpId],
) -> Vec<OpId> {
    let group = part.rooted();
    let me = group.me();
    let mut last = before.to_vec();
    let mut sent = Vec::new();
    for &segment in segments {
        for child in (arity * me + 1..=arity * me + arity).take_while(|&child| child < group.size()) {
            let combined = part.receive_and_combine(builder, &group, child, (segment, 0), (&last, &[]));
            last = or_before(combined.into_iter().collect(), &last);
        }
        if me > 0 {
            sent.extend(group.send(builder, (me - 1) / arity, segment, &last));
        }
    }
    or_before(sent, &last)
}
