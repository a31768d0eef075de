//! The linear-time ordered tree, for irregular gather and scatter: where two ranges join, the one with fewer bytes sends.
//!
//! Irregular gather and scatter, Lemmas 1 to 3 and Theorem 1. Large blocks stay where they are while small ones come to
//! them: the data take at most ceil(log2 p) t_s and a transfer time linear in the sum of all blocks, whatever their sizes.
//! Here every rank knows all sizes and finds the tree by itself; `construct` is for ranks that know only their own.
//!
//! **How linear.** A gather root g other than the operation's root has its cube H after at most d t_s + S(H) t_w, S(H) the
//! bytes of the whole cube: of two that join, the smaller was ready by S(H') and the larger by S(H''), and
//! max(S', S'') + min(S', S'') = S' + S''. A root that is given cannot choose to be the larger one: it may wait for a
//! neighbour that holds more than itself, and has all after at most ceil(log2 p) t_s + (sum + largest subtree) t_w, that
//! is within twice the sum over i other than the root that Theorem 1 states. One port a rank; a message is passed on when
//! it has arrived whole.
//!
//! With a threshold (section 3), a subtree of more bytes goes to the root directly: more startups there, but large blocks
//! travel once. A run that no longer borders on its neighbour, because one between went directly, goes directly as well, so
//! that every message stays one of consecutive blocks.

use super::binomial;
use super::gathering::{Append, Gather};
use super::part::Part;
use super::tree::{Rule, joins};
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::topology::Rank;

/// See the module. The time is that for equal blocks, where it is a binomial tree.
pub static ORDERED: Gather =
    Gather { gather: &GATHER, scatter: &SCATTER, append: APPEND, append_backwards: APPEND, time: binomial::time };

/// The gather; see the module.
pub static GATHER: Algorithm = Algorithm {
    operation: Operation::Gather,
    name: "ordered_tree",
    about: "ranges of ranks join pairwise, the one with fewer bytes sending to the other",
    source: "Irregular gather and scatter, Lemma 3 and Theorem 1",
    cost: "ceil(log2 p) t_s + (sum of m_i + largest subtree) t_w; construction from local sizes: 2 ceil(log2 p) - 1 t_s",
    irregular: true,
    schedule: |problem| ORDERED.gather(problem),
};

/// The scatter; see the module.
pub static SCATTER: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "the ordered tree of the gather, backwards",
    schedule: |problem| ORDERED.scatter(problem),
    ..GATHER
};

/// The gather with a threshold of [`Problem::segment`] bytes; see the module.
pub static GATHER_THRESHOLD: Algorithm = Algorithm {
    name: "ordered_tree_threshold",
    about: "the ordered tree; a subtree of more than `segment` bytes goes to the root directly",
    source: "Irregular gather and scatter, section 3",
    cost: "up to (p - 1) t_s + (sum of m_i + largest subtree) t_w; large blocks travel once",
    schedule: |problem| direct(problem).gather(),
    ..GATHER
};

/// The scatter with a threshold of [`Problem::segment`] bytes; see the module.
pub static SCATTER_THRESHOLD: Algorithm = Algorithm {
    operation: Operation::Scatter,
    about: "the ordered tree with a threshold, backwards",
    schedule: |problem| direct(problem).scatter(),
    ..GATHER_THRESHOLD
};

const APPEND: Append = |it, builder, before| part(it.group.me(), it.root, it.sizes, None).append(it, builder, before);

fn direct(problem: &Problem<'_>) -> Part {
    part(problem.rank, problem.root, problem.sizes, Some(problem.segment))
}

fn part(rank: Rank, root: Rank, sizes: &[u64], threshold: Option<u64>) -> Part {
    Part::of(rank, root, sizes[rank], &joins(sizes, root, Rule::BySize { threshold }))
}
