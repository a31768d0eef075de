//! Binomial reduction.
//!
//! Ranks are counted from the root. In step k, a rank with bit k set sends its partial result to the rank without that
//! bit, which combines, and is finished. Every step has its own receive buffer, so messages may arrive in any order.
//!
//! Cost: `p - 1` messages of m bytes in ceil(log2 p) steps; time ceil(log2 p)(t_s + m t_w + m t_c) (Hasanov, thesis, 2.3.2.1, equation
//! 2.15).

use crate::collectives::in_place::{InPlace, in_place};
use tributary::collectives::binomial;

/// Binomial reduction (see the module).
pub static BINOMIAL: InPlace = in_place!(Reduce {
    name: "binomial",
    about: "up a binomial tree, the nearest first",
    source: "Hasanov, thesis, 2.3.2.1, equation 2.15",
    cost: "ceil(log2 p)(t_s + m t_w + m t_c)",
    append: binomial::reduce,
    time: |rates, ranks, bytes, _| ranks.log2().ceil() * rates.combined(bytes),
});
