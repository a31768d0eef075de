//! Binomial broadcast.
//!
//! Ranks are counted from the root. A rank receives from the rank without its lowest set bit, then sends to the ranks with
//! one more lower bit, the farthest first. p - 1 messages of m bytes in ceil(log2 p) steps: ceil(log2 p)(t_s + m t_w)
//! (Hasanov, thesis, 2.3.1.2, equation 2.7).

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};
use crate::collectives::blocks::{children, lowest_bit};
use crate::collectives::in_place::{InPlace, Part, or_before};
use crate::schedule::{Builder, OpId};

/// See the module.
pub static BINOMIAL: InPlace = InPlace {
    algorithm: Algorithm {
        operation: Operation::Broadcast,
        name: "binomial",
        about: "down a binomial tree, the farthest first",
        source: "Hasanov, thesis, 2.3.1.2, equation 2.7",
        cost: "ceil(log2 p)(t_s + m t_w)",
        irregular: false,
        schedule: |problem| BINOMIAL.schedule(problem),
    },
    append,
    time,
};

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
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

/// Equation 2.7.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    ranks.log2().ceil() * rates.message(bytes)
}
