//! Binary tree reduction: member i combines the messages of members 2 i + 1 and 2 i + 2 with its own and sends the
//! result on, a segment at a time.
//!
//! (p - 1) X messages of m / X bytes: 2 (log2(p + 1) + X - 2)(t_s + m/X t_w + m/X t_c) for a full tree (Hasanov,
//! thesis, 2.3.2.1, equation 2.14).

use super::chain::up;
use crate::collectives::Rates;
use crate::collectives::in_place::{InPlace, in_place};

/// Binary tree reduction (see the module).
pub static BINARY: InPlace = in_place!(Reduce {
    name: "binary",
    about: "up a complete binary tree, a segment at a time",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.14",
    cost: "2 (log2(p + 1) + X - 2)(t_s + m/X (t_w + t_c)) in X segments",
    append: |part, builder, before| up(part, 2, &part.segments(), builder, before),
    time: time,
});

/// Returns the time in seconds by equation 2.14.
fn time(rates: &Rates, ranks: f64, bytes: f64, segments: f64) -> f64 {
    let steps = 2.0 * ((ranks + 1.0).log2() + segments - 2.0);
    if ranks < 2.0 { 0.0 } else { steps * rates.combined(bytes / segments) }
}
