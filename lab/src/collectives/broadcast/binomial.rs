//! Binomial broadcast.
//!
//! Ranks are counted from the root. A rank receives from the rank without its lowest set bit, then sends to the ranks
//! with one more lower bit, the farthest first. p - 1 messages of m bytes in ceil(log2 p) steps: ceil(log2 p)(t_s + m
//! t_w) (Hasanov, thesis, 2.3.1.2, equation 2.7).

use crate::collectives::blocks::{children, lowest_bit};
use crate::collectives::in_place::{InPlace, Part, in_place, or_before};
use tributary::schedule::{Builder, OpId};

/// Binomial broadcast (see the module).
pub static BINOMIAL: InPlace = in_place!(Broadcast {
    name: "binomial",
    about: "down a binomial tree, the farthest first",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.7",
    cost: "ceil(log2 p)(t_s + m t_w)",
    append: broadcast,
    time: |rates, ranks, bytes, _| ranks.log2().ceil() * rates.message(bytes),
});

/// Adds a broadcast to a schedule: a rank receives from the rank without its lowest set bit, then sends to the ranks
/// with one more lower bit, the farthest first. p - 1 messages of m bytes: ceil(log2 p)(t_s + m t_w).
fn broadcast(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let (me, size) = (group.me(), group.size());
    let parent = me.checked_sub(lowest_bit(me, size));
    let arrived = parent.and_then(|parent| group.receive(builder, parent, part.message, before));
    let here = or_before(arrived.into_iter().collect(), before);
    for child in children(me, size).rev() {
        group.send(builder, child, part.message, &here);
    }
    here
}
