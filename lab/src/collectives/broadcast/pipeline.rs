//! Pipelined chain broadcast: every rank passes the message to the next, a segment at a time.
//!
//! (p - 1) X messages of m / X bytes, X segments: (X + p - 2)(t_s + m/X t_w) (Hasanov, thesis, 2.3.1.2, equation 2.4).

use super::chain::along;
use crate::collectives::in_place::{InPlace, in_place};

/// Pipelined chain broadcast (see the module).
pub static PIPELINE: InPlace = in_place!(Broadcast {
    name: "pipeline",
    about: "every rank passes the message to the next, a segment at a time",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.4",
    cost: "(X + p - 2)(t_s + m/X t_w) in X segments",
    append: |part, builder, before| along(part, &part.segments(), builder, before),
    time: |rates, ranks, bytes, segments| {
        if ranks < 2.0 { 0.0 } else { (segments + ranks - 2.0) * rates.message(bytes / segments) }
    },
});
