//! Ring allreduce: blocks go round the ring and are combined on the way, then go round once more.
//!
//! 2 p (p - 1) messages of m / p bytes between neighbours only: 2 (p - 1)(t_s + m/p t_w) + (p - 1) m/p t_c
//! (Hasanov, thesis, 2.3.2.2, equation 2.20).

use crate::collectives::Rates;
use crate::collectives::blocks::{Cut, OWN, ring_allgather, ring_reduce_scatter};
use crate::collectives::in_place::{InPlace, Part, in_place};
use tributary::schedule::{Builder, OpId};

/// Ring allreduce (see the module).
pub static RING: InPlace = in_place!(Allreduce {
    name: "ring",
    about: "ring reduce-scatter, then a ring allgather",
    source: "Hasanov, thesis, 2.3.2.2, equation 2.20",
    cost: "2 (p - 1)(t_s + m/p t_w) + (p - 1) m/p t_c",
    append: |part, builder, before| around(part, u64::MAX, builder, before),
    time: time,
});

/// Adds a ring allreduce. The blocks go round the ring first in segments of `segment` bytes, to be combined, then as
/// whole blocks.
pub(super) fn around(part: &Part<'_>, segment: u64, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let cut = Cut::new(part.message, part.group.size());
    let scattered = ring_reduce_scatter(part, &cut, segment, builder, before);
    ring_allgather(&part.group, |block| cut.span(block, block + 1), OWN, builder, &scattered)
}

/// Returns the time in seconds by equation 2.20.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    let block = bytes / ranks;
    (ranks - 1.0) * (rates.combined(block) + rates.message(block))
}
