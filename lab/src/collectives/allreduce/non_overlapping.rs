//! Non-overlapping allreduce: a reduction, then a broadcast; both binomial here.
//!
//! 2 (p - 1) messages of m bytes in 2 ceil(log2 p) steps: the sum of equations 2.15 and 2.7 (Hasanov, thesis, 2.3.2.2):
//! ceil(log2 p)(2 t_s + 2 m t_w + m t_c). It suits operators that do not commute. The engine's agreement uses it.

use crate::collectives::in_place::{InPlace, Part, finished_broadcast, in_place};
use crate::collectives::{broadcast, reduce};
use tributary::schedule::{Builder, OpId};

/// Non-overlapping allreduce (see the module).
pub static NON_OVERLAPPING: InPlace = in_place!(Allreduce {
    name: "non_overlapping",
    about: "binomial reduction, then binomial broadcast",
    source: "Hasanov, thesis, 2.3.2.2, equations 2.15 and 2.7",
    cost: "ceil(log2 p)(2 t_s + 2 m t_w + m t_c)",
    append: |part, builder, before| {
        reduce_and_broadcast(part, (&reduce::BINOMIAL, &broadcast::BINOMIAL), builder, before)
    },
    time: |rates, ranks, bytes, segments| {
        (reduce::BINOMIAL.time)(rates, ranks, bytes, segments)
            + (broadcast::BINOMIAL.time)(rates, ranks, bytes, segments)
    },
});

/// Adds a reduction to the part's root, and a broadcast from that root. Returns the operations after which the rank has
/// the result.
pub(super) fn reduce_and_broadcast(
    part: &Part<'_>,
    (reduce, broadcast): (&InPlace, &InPlace),
    builder: &mut Builder,
    before: &[OpId],
) -> Vec<OpId> {
    let reduced = (reduce.append)(part, builder, before);
    finished_broadcast(broadcast, part, builder, &reduced)
}
