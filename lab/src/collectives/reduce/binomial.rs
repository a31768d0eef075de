//! Binomial reduction.
//!
//! Ranks are counted from the root. In step k, a rank with bit k set sends its partial result to the rank without that bit,
//! which combines, and is finished. Every step has its own receive buffer, so messages may arrive in any order. p - 1 messages
//! of m bytes in ceil(log2 p) steps: ceil(log2 p)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1, equation 2.15).

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};
use crate::collectives::in_place::InPlace;
use tributary::collectives::binomial;

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
    append: binomial::reduce,
    time,
};

/// Equation 2.15.
fn time(rates: &Rates, ranks: f64, bytes: f64, _segments: f64) -> f64 {
    ranks.log2().ceil() * rates.combined(bytes)
}
