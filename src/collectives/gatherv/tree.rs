//! Ordered gather trees: ranks in consecutive ranges that join pairwise, level by level, into larger ones.
//!
//! At level d the ranks are cut into ordered hypercubes `[a 2^d, (a + 1) 2^d)`, the last of them possibly incomplete. Each has
//! a gather root, who holds the blocks of a [`Run`] of consecutive ranks, in rank order. Where two neighbours join, one
//! gather root sends all that it holds to the other; the [`Rule`] says which. (Irregular gather and scatter, Lemmas 1 and 2.)

use crate::topology::Rank;

/// The blocks of consecutive ranks `first..end`, gathered by one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Who holds them.
    pub gatherer: Rank,
    /// The lowest rank.
    pub first: Rank,
    /// One past the highest.
    pub end: Rank,
    /// Their bytes.
    pub bytes: u64,
}

impl Run {
    /// One rank's own block.
    pub fn own(rank: Rank, bytes: u64) -> Self {
        Self { gatherer: rank, first: rank, end: rank + 1, bytes }
    }
}

/// Which of two gather roots sends to the other. The root of the operation always receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The one of the higher ranks sends, whatever the sizes: a binomial tree.
    Oblivious,
    /// The one with fewer bytes sends (Lemma 1), the higher one if both hold the same. With a threshold, a run of more
    /// bytes than that goes to the root directly, and so does one that no longer borders on the other.
    BySize {
        /// Bytes.
        threshold: Option<u64>,
    },
}

/// What happens where two neighbours join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    /// What is sent; of no bytes, then there is no message.
    pub sent: Run,
    /// To whom: the other gather root, or the root.
    pub to: Rank,
    /// What the joined cube's gather root holds then.
    pub held: Run,
}

impl Join {
    /// Whether the run passes the other gather root by.
    pub fn is_direct(&self) -> bool {
        self.to != self.held.gatherer
    }
}

/// Joins what two neighbouring cubes hold, `left` of the lower ranks.
pub fn join(left: Run, right: Run, root: Rank, rule: Rule) -> Join {
    let right_holds = match rule {
        _ if left.gatherer == root => false,
        _ if right.gatherer == root => true,
        Rule::Oblivious => false,
        Rule::BySize { .. } => right.bytes > left.bytes,
    };
    let (sent, holder) = if right_holds { (left, right) } else { (right, left) };
    let direct = match rule {
        _ if holder.gatherer == root => false,
        Rule::BySize { threshold: Some(threshold) } => sent.bytes > threshold || left.end != right.first,
        _ => false,
    };
    if direct {
        return Join { sent, to: root, held: holder };
    }
    let held = Run { first: left.first, end: right.end, bytes: left.bytes + right.bytes, ..holder };
    Join { sent, to: holder.gatherer, held }
}

/// All joins of the tree over `sizes`, level by level, those without a message left out. O(p).
pub fn joins(sizes: &[u64], root: Rank, rule: Rule) -> Vec<Join> {
    let mut cubes: Vec<Run> = sizes.iter().enumerate().map(|(rank, &bytes)| Run::own(rank, bytes)).collect();
    let mut all = Vec::new();
    while cubes.len() > 1 {
        let pairs = cubes.chunks(2).map(|pair| match *pair {
            [left, right] => {
                let join = join(left, right, root, rule);
                all.push(join);
                join.held
            }
            _ => pair[0],
        });
        cubes = pairs.collect();
    }
    all.retain(|join| join.sent.bytes > 0);
    all
}
