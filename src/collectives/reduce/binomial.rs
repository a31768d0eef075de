//! Binomial reduction.
//!
//! Ranks are counted from the root. In step k, a rank with bit k set sends its partial result to the rank without that bit,
//! which combines, and is finished. Every step has its own receive buffer, so messages may arrive in any order. p - 1 messages
//! of m bytes in ceil(log2 p) steps: ceil(log2 p)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1, equation 2.15).

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};
use crate::collectives::blocks::{children, lowest_bit};
use crate::collectives::in_place::{InPlace, Part, or_before};
use crate::schedule::{Builder, OpId};

/// See the module.
pub static BINOMIAL: InPlace = InPlace {
    algorithm: Algorithm {
        operation: Operation::Reduce,
        name: "binomial",
        about: "up a binomial tree, the nearest first",
        source: "Hasanov, thesis, 2.3.2.1, equation 2.15",
        cost: "ceil(log2 p)(t_s + m t_w + m t_c)",
        irregular: false,
        schedule: |problem| BINOMIAL.schedule(problem),
    },
    append,
    time,
};

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    let (me, size) = (group.me(), group.size());
    let mut last = before.to_vec();
    for (step, child) in children(me, size).enumerate() {
        let place = step as u64 * part.message.len;
        let combined = part.receive_and_combine(builder, &group, child, (part.message, place), (before, &last));
        last = or_before(combined.into_iter().collect(), &last);
    }
    let parent = me.checked_sub(lowest_bit(me, size));
    let sent = parent.and_then(|parent| group.send(builder, parent, part.message, &last));
    or_before(sent.into_iter().collect(), &last)
}

/// Equation 2.15.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    ranks.log2().ceil() * rates.combined(bytes)
}
