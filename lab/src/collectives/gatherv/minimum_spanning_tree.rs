//! Minimum spanning tree gather and scatter: ranges of ranks are halved, and one rank gathers each half.
//!
//! The root gathers the whole range. The rank that gathers a range also gathers the half that it is in; the other half
//! is gathered by its farthest rank, the last of an upper half or the first of a lower one; and so on. The rank of a
//! half sends its blocks to the rank of the whole range in one message (in a scatter it receives them). At most p - 1
//! messages; for p a power of two and equal blocks ceil(log2 p) t_s + (p - 1) m t_w, the lower bounds of both terms
//! (Hasanov, thesis, 2.3.3.1, equation 2.25, where m is the sum of all blocks). Unlike in the binomial tree, the two
//! halves differ by at most one rank if p is not a power of two.

use super::binomial;
use super::gathering::{Append, Gather};
use super::part::GatherPart;
use super::tree::Run;
use crate::collectives::algorithm::{Algorithm, Operation};
use tributary::topology::Rank;

/// Minimum spanning tree gather and scatter (see the module).
pub static MINIMUM_SPANNING_TREE: Gather =
    Gather { gather: &GATHER, scatter: &SCATTER, append: APPEND, append_backwards: APPEND, time: binomial::time };

/// Minimum spanning tree gather (see the module).
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "minimum_spanning_tree",
    about: "ranges of ranks are halved; one rank of each half sends it to who holds both",
    source: "Hasanov, thesis, 2.3.3.1, equation 2.25",
    cost: "ceil(log2 p) t_s + (p - 1) m t_w; irregular: up to ceil(log2 p) (t_s + (sum of m_i) t_w)",
    irregular: true,
    schedule: |problem| MINIMUM_SPANNING_TREE.gather(problem),
};

/// Minimum spanning tree scatter (see the module).
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "ranges of ranks are halved; who holds both sends one half to one rank of it",
    schedule: |problem| MINIMUM_SPANNING_TREE.scatter(problem),
    ..GATHER
};

const APPEND: Append = |gathering, builder, before| {
    part(gathering.group.me(), gathering.root, gathering.sizes).append(gathering, builder, before)
};

/// Returns this rank's part of the tree, found by descending through the halves that the rank is in. O(p).
fn part(rank: Rank, root: Rank, sizes: &[u64]) -> GatherPart {
    let mut part = GatherPart::new(rank, root, sizes[rank]);
    let (mut range, mut holder) = (0..sizes.len(), root);
    while range.len() > 1 {
        let middle = range.start + range.len().div_ceil(2);
        let (kept, given, other) = match holder < middle {
            true => (range.start..middle, middle..range.end, range.end - 1),
            false => (middle..range.end, range.start..middle, range.start),
        };
        let bytes = sizes[given.clone()].iter().sum();
        if holder == rank && bytes > 0 {
            part.received.push(Run { gatherer: other, first: given.start, end: given.end, bytes });
        }
        if other == rank && bytes > 0 {
            part.to = Some(holder);
        }
        (range, holder) = if given.contains(&rank) { (given, other) } else { (kept, holder) };
    }
    part.received.sort_unstable_by_key(|run| run.first);
    part
}
