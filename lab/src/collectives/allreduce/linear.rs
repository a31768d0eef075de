//! Linear allreduce: a flat reduction, then a flat broadcast from the same root.
//!
//! 2 (p - 1) messages of m bytes, all through the root's port: 2 (p - 1)(t_s + m t_w) + (p - 1) m t_c (Hasanov, thesis,
//! 2.3.2.2, equation 2.17). For few ranks.

use super::non_overlapping::reduce_and_broadcast;
use crate::collectives::in_place::{InPlace, in_place};
use crate::collectives::{broadcast, reduce};

/// Linear allreduce (see the module).
pub static LINEAR: InPlace = in_place!(Allreduce {
    name: "linear",
    about: "flat reduction, then flat broadcast",
    source: "Hasanov, thesis, 2.3.2.2, equation 2.17",
    cost: "2 (p - 1)(t_s + m t_w) + (p - 1) m t_c",
    append: |part, builder, before| reduce_and_broadcast(part, (&reduce::FLAT, &broadcast::FLAT), builder, before),
    time: |rates, ranks, bytes, segments| {
        (reduce::FLAT.time)(rates, ranks, bytes, segments) + (broadcast::FLAT.time)(rates, ranks, bytes, segments)
    },
});
