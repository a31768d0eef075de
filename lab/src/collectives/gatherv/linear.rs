//! Linear gather and scatter: every rank sends its block to the root, or receives it from the root, without a tree.
//!
//! p - 1 messages at the root, at most 32 of them outstanding: (p - 1) t_s + (sum of the others' blocks) t_w. Each byte
//! is sent once, which suits large blocks. MPI libraries use it (irregular gather and scatter, section 1).

use super::gathering::{Append, Gather};
use super::part::GatherPart;
use super::tree::Run;
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation};
use tributary::topology::Rank;

/// Linear gather and scatter (see the module).
pub static LINEAR: Gather =
    Gather { gather: &GATHER, scatter: &SCATTER, append: APPEND, append_backwards: APPEND, time };

/// Linear gather (see the module).
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "linear",
    about: "every rank sends its block to the root",
    source: "Irregular gather and scatter, section 1; Hasanov, thesis, 2.3.3.1, equation 2.22",
    cost: "(p - 1) t_s + (sum of m_i, i not the root) t_w",
    irregular: true,
    schedule: |problem| LINEAR.gather(problem),
};

/// Linear scatter (see the module).
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "the root sends every rank its block",
    schedule: |problem| LINEAR.scatter(problem),
    ..GATHER
};

const APPEND: Append = |gathering, builder, before| {
    part(gathering.group.me(), gathering.root, gathering.sizes).append(gathering, builder, before)
};

fn part(rank: Rank, root: Rank, sizes: &[u64]) -> GatherPart {
    let mut part = GatherPart::new(rank, root, sizes[rank]);
    if rank == root {
        let others = sizes.iter().enumerate().filter(|&(other, &bytes)| other != root && bytes > 0);
        part.received.extend(others.map(|(other, &bytes)| Run::own(other, bytes)));
    } else {
        part.to = (sizes[rank] > 0).then_some(root);
    }
    part
}

/// Returns the time in seconds by equation 2.22.
fn time(rates: &Rates, ranks: f64, bytes: f64) -> f64 {
    (ranks - 1.0) * rates.message(bytes)
}
