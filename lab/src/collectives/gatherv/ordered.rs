//! The linear-time ordered tree, for irregular gather and scatter: when two ranges join, the one with fewer bytes
//! sends.
//!
//! Irregular gather and scatter, Lemmas 1 to 3 and Theorem 1. Large blocks stay where they are, and small ones are sent
//! to them. The data takes at most ceil(log2 p) t_s and a transfer time linear in the sum of all blocks, whatever their
//! sizes. Here every rank knows all sizes and computes the tree by itself; `construct` is for ranks that know only
//! their own size.
//!
//! **Why linear.** A gather root other than the operation's root has the blocks of its cube H after at most d t_s +
//! S(H) t_w, where S(H) is the bytes of the cube. Proof: of two cubes that join, one was ready after S' and the other
//! after S'', and max(S', S'') + min(S', S'') = S' + S''. The operation's root is given and may be the smaller of two:
//! it may wait for a neighbour that has more bytes. It has all blocks after at most ceil(log2 p) t_s + (sum + largest
//! subtree) t_w, which is within the bound of Theorem 1, twice the sum over i other than the root. A rank has one port,
//! and forwards a message when all of it has arrived.
//!
//! With a threshold (section 3), a subtree of more bytes goes to the root directly: more startups there, but large
//! blocks are sent once. If a run between two neighbours went to the root directly, they are no longer adjacent; the
//! one that would send then sends to the root directly too, so that every message has consecutive blocks.

use super::binomial;
use super::gathering::{Append, Gather};
use super::part::GatherPart;
use super::tree::{Rule, joins};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use tributary::topology::Rank;

/// Ordered gather and scatter (see the module). Its time is given for equal blocks, for which the tree is a binomial
/// tree.
pub static ORDERED: Gather =
    Gather { gather: &GATHER, scatter: &SCATTER, append: APPEND, append_backwards: APPEND, time: binomial::time };

/// Ordered gather (see the module).
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "ordered_tree",
    about: "ranges of ranks join pairwise, the one with fewer bytes sending to the other",
    source: "Irregular gather and scatter, Lemma 3 and Theorem 1",
    cost: "ceil(log2 p) t_s + (sum of m_i + largest subtree) t_w; construction from local sizes: 2 ceil(log2 p) - 1 t_s",
    irregular: true,
    schedule: |problem| ORDERED.gather(problem),
};

/// Ordered scatter (see the module).
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "the ordered tree of the gather, backwards",
    schedule: |problem| ORDERED.scatter(problem),
    ..GATHER
};

/// Ordered gather with a threshold of [`Problem::segment`] bytes (see the module).
pub static GATHER_THRESHOLD: Algorithm = Algorithm {
    name: "ordered_tree_threshold",
    about: "the ordered tree; a subtree of more than `segment` bytes goes to the root directly",
    source: "Irregular gather and scatter, section 3",
    cost: "up to (p - 1) t_s + (sum of m_i + largest subtree) t_w; large blocks travel once",
    schedule: |problem| direct(problem).gather(),
    ..GATHER
};

/// Ordered scatter with a threshold of [`Problem::segment`] bytes (see the module).
pub static SCATTER_THRESHOLD: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "the ordered tree with a threshold, backwards",
    schedule: |problem| direct(problem).scatter(),
    ..GATHER_THRESHOLD
};

const APPEND: Append = |gathering, builder, before| {
    part(gathering.group.me(), gathering.root, gathering.sizes, None).append(gathering, builder, before)
};

fn direct(problem: &Problem<'_>) -> GatherPart {
    part(problem.rank, problem.root, problem.sizes, Some(problem.segment))
}

fn part(rank: Rank, root: Rank, sizes: &[u64], threshold: Option<u64>) -> GatherPart {
    GatherPart::of(rank, root, sizes[rank], &joins(sizes, root, Rule::BySize { threshold }))
}
