//! Segmented ring allreduce: a ring allreduce that sends each segment of a block on as soon as the segment is combined.
//!
//! The combination hides behind the messages. Between neighbours only: (p - 1)(x t_s + m/p t_w) and at most the
//! combination of a block more on the first way round, x segments a block; (p - 1)(t_s + m/p t_w) on the second.
//! Hasanov, thesis, 2.3.2.2, equation 2.21 counts the first way as a pipeline of the message in X segments, (p + X -
//! 2)(t_s + m/X (t_w + t_c)): an upper bound.

use super::ring::around;
use crate::collectives::Rates;
use crate::collectives::in_place::{InPlace, in_place};

/// Segmented ring allreduce (see the module).
pub static SEGMENTED_RING: InPlace = in_place!(Allreduce {
    name: "segmented_ring",
    about: "ring reduce-scatter in segments, then a ring allgather",
    source: "Hasanov, thesis, 2.3.2.2, equation 2.21",
    cost: "(p - 1)(x t_s + m/p t_w) + (p - 1)(t_s + m/p t_w) and a combined segment more, x segments a block",
    append: |part, builder, before| around(part, part.segment, builder, before),
    time: time,
});

/// Returns the time in seconds by equation 2.21.
fn time(rates: &Rates, ranks: f64, bytes: f64, segments: f64) -> f64 {
    if ranks < 2.0 {
        return 0.0;
    }
    (ranks + segments - 2.0) * rates.combined(bytes / segments) + (ranks - 1.0) * rates.message(bytes / ranks)
}
