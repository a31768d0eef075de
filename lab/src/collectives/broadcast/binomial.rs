//! Binomial broadcast.
//!
//! Ranks are counted from the root. A rank receives from the rank without its lowest set bit, then sends to the ranks
//! with one more lower bit, the farthest first. p - 1 messages of m bytes in ceil(log2 p) steps: ceil(log2 p)(t_s + m
//! t_w) (Hasanov, thesis, 2.3.1.2, equation 2.7).

use crate::collectives::in_place::{InPlace, in_place};
use tributary::collectives::binomial;

/// Binomial broadcast (see the module).
pub static BINOMIAL: InPlace = in_place!(Broadcast {
    name: "binomial",
    about: "down a binomial tree, the farthest first",
    source: "Hasanov, thesis, 2.3.1.2, equation 2.7",
    cost: "ceil(log2 p)(t_s + m t_w)",
    append: binomial::broadcast,
    time: |rates, ranks, bytes, _| ranks.log2().ceil() * rates.message(bytes),
});
