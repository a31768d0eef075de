//! Flat tree reduction: the root receives from one rank after the other, and combines.
//!
//! p - 1 messages of m bytes into one place of m bytes: (p - 1)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1,
//! equation 2.10).

use crate::collectives::algorithm::{Algorithm, Operation};
use crate::collectives::in_place::{InPlace, Part, or_before};
use crate::schedule::timing::Rates;
use crate::schedule::{Builder, OpId};

/// See the module.
pub static FLAT: InPlace = InPlace {
    algorithm: Algorithm {
        operation: Operation::Reduce,
        name: "flat",
        about: "the root receives from one rank after the other",
        source: "Hasanov, thesis, 2.3.2.1, equation 2.10",
        cost: "(p - 1)(t_s + m t_w + m t_c)",
        irregular: false,
        schedule: |problem| FLAT.schedule(problem),
    },
    append,
    time,
};

fn append(part: &Part<'_>, builder: &mut Builder, before: &[OpId]) -> Vec<OpId> {
    let group = part.rooted();
    if group.me() > 0 {
        let sent = group.send(builder, 0, part.message, before);
        return or_before(sent.into_iter().collect(), before);
    }
    let mut last = before.to_vec();
    for member in 1..group.size() {
        let combined = part.receive_and_combine(builder, &group, member, (part.message, 0), (&last, &[]));
        last = or_before(combined.into_iter().collect(), &last);
    }
    last
}

/// Equation 2.10.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    (ranks - 1.0) * rates.combined(bytes)
}
