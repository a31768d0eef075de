//! Binomial gather and scatter: neighbouring ranges of ranks join, and the lower gather root receives, whatever the
//! sizes.
//!
//! The tree is that of the ordered hypercubes. The root of the operation is the gather root of every cube that it is
//! in, so any root has the whole tree in ceil(log2 p) levels, every message has consecutive blocks, and nothing is
//! rotated. At most p - 1 messages; ceil(log2 p) t_s + (sum of the others' blocks) t_w for equal blocks. A large block
//! far from the root is forwarded at every level: up to ceil(log2 p) (t_s + (sum of m_i) t_w) (irregular gather and
//! scatter, section 1).

use super::gathering::{Append, Gather};
use super::part::GatherPart;
use super::tree::{Rule, joins};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};

/// Binomial gather and scatter (see the module).
pub static BINOMIAL: Gather =
    Gather { gather: &GATHER, scatter: &SCATTER, append: APPEND, append_backwards: APPEND, time };

/// Binomial gather (see the module).
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "binomial",
    about: "ranges of ranks join pairwise, the lower gather root receiving whatever the sizes",
    source: "Irregular gather and scatter, sections 1 and 2; Hasanov, thesis, 2.3.3.1, equation 2.24",
    cost: "ceil(log2 p) t_s + (p - 1) m t_w; irregular: up to ceil(log2 p) (t_s + (sum of m_i) t_w)",
    irregular: true,
    schedule: |problem| BINOMIAL.gather(problem),
};

/// Binomial scatter (see the module).
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "ranges of ranks are halved, one message for each half, whatever the sizes",
    schedule: |problem| BINOMIAL.scatter(problem),
    ..GATHER
};

const APPEND: Append = |gathering, builder, before| {
    let (me, root, sizes) = (gathering.group.me(), gathering.root, gathering.sizes);
    GatherPart::of(me, root, sizes[me], &joins(sizes, root, Rule::Oblivious)).append(gathering, builder, before)
};

/// Returns the time in seconds by equation 2.24.
pub(super) fn time(rates: &Rates, ranks: f64, bytes: f64) -> f64 {
    ranks.log2().ceil() * rates.startup + (ranks - 1.0) * bytes * rates.byte
}
