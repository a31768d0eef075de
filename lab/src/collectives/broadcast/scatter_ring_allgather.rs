//! Scatter-ring-allgather broadcast: the message is scattered in blocks by a binomial tree and gathered round a ring.
//!
//! A block that a member has from the scatter is not sent to it again: fewer than p^2 messages, and (p - 1) m bytes in
//! all, which is the minimum. For long messages. For a power of two: (ceil(log2 p) + p - 1) t_s + 2 (p - 1)/p m t_w
//! (Hasanov, thesis, 2.3.1.2, equation 2.8).

use crate::collectives::Rates;
use crate::collectives::blocks::{Cut, SCATTERED, ring_allgather, scatter};
use crate::collectives::in_place::{InPlace, Part, in_place};
use tributary::schedule::{Builder, OpId};

/// Scatter-ring-allgather broadcast (see the module).
pub static SCATTER_RING_ALLGATHER: InPlace = in_place!(Broadcast {
    name: "scatter_ring_allgather",
    about: "binomial scatter of blocks, then a ring allgather",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.8",
    cost: "(ceil(log2 p) + p - 1) t_s + 2 (p - 1)/p m t_w",
    append: append,
    time: time,
});

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let cut = Cut::new(part.message, group.size());
    let scattered = scatter(&group, &cut, builder, before);
    ring_allgather(&group, |block| cut.span(block, block + 1), SCATTERED, builder, &scattered)
}

/// Returns the time in seconds by equation 2.8.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    let moved = 2.0 * (ranks - 1.0) / ranks * bytes;
    (ranks.log2().ceil() + ranks - 1.0) * rates.startup + moved * rates.byte
}
