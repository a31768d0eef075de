//! Pipeline reduction: starting with the last rank, every rank combines the message of the rank after it with its own
//! and sends the result on, a segment at a time.
//!
//! (p - 1) X messages of m / X bytes: (p + X - 2)(t_s + m/X t_w + m/X t_c) (Hasanov, thesis, 2.3.2.1, equation 2.13).

use super::chain::up;
use crate::collectives::in_place::{InPlace, in_place};

/// Pipeline reduction (see the module).
pub static PIPELINE: InPlace = in_place!(Reduce {
    name: "pipeline",
    about: "every rank combines what the next has, and sends on, a segment at a time",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.13",
    cost: "(p + X - 2)(t_s + m/X (t_w + t_c)) in X segments",
    append: |part, builder, before| up(part, 1, &part.segments(), builder, before),
    time: |rates, ranks, bytes, segments| {
        if ranks < 2.0 { 0.0 } else { (ranks + segments - 2.0) * rates.combined(bytes / segments) }
    },
});
