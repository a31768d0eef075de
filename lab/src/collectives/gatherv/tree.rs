//! Ordered gather trees: ranks in consecutive ranges that join pairwise, level by level, into larger ones.
//!
//! At level d the ranks are divided into ordered hypercubes `[a 2^d, (a + 1) 2^d)`; the last may be incomplete. Each
//! has a gather root, which has the blocks of a [`Run`] of consecutive ranks, in rank order. When two neighbours join,
//! one gather root sends its run to the other; the [`Rule`] says which. (Irregular gather and scatter, Lemmas 1 and 2.)

use tributary::topology::Rank;

/// Blocks of consecutive ranks `first..end`, which one of these ranks has gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Rank that has gathered the blocks.
    pub gatherer: Rank,
    /// Lowest rank of the run.
    pub first: Rank,
    /// One more than the highest rank of the run.
    pub end: Rank,
    /// Number of bytes of all blocks of the run.
    pub bytes: u64,
}

impl Run {
    /// Returns the run of one rank's own block.
    pub fn own(rank: Rank, bytes: u64) -> Self {
        Self { gatherer: rank, first: rank, end: rank + 1, bytes }
    }
}

/// Rule that decides which of two gather roots sends to the other. The root of the operation always receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The gather root of the higher ranks sends, whatever the sizes: a binomial tree.
    Oblivious,
    /// The gather root with fewer bytes sends (Lemma 1), or the higher rank if both have the same. With a threshold, a
    /// run of more bytes goes to the root directly, and so does a run that is not adjacent to the other.
    BySize {
        /// Threshold in bytes.
        threshold: Option<u64>,
    },
}

/// Join of two neighbouring cubes of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join {
    /// Run that is sent; if the run is empty, there is no message.
    pub sent: Run,
    /// Rank that receives the run: the other gather root, or the operation's root.
    pub to: Rank,
    /// Run of the joined cube's gather root.
    pub joined: Run,
}

impl Join {
    /// Returns true if the run goes to the root directly and not to the other gather root.
    pub fn is_direct(&self) -> bool {
        self.to != self.joined.gatherer
    }
}

/// Joins the runs of two neighbouring cubes; `left` is the run of the lower ranks.
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
        return Join { sent, to: root, joined: holder };
    }
    let joined = Run { first: left.first, end: right.end, bytes: left.bytes + right.bytes, ..holder };
    Join { sent, to: holder.gatherer, joined }
}

/// Returns all joins of the tree over `sizes` that send a message, level by level. O(p).
pub fn joins(sizes: &[u64], root: Rank, rule: Rule) -> Vec<Join> {
    let mut cubes: Vec<Run> = sizes.iter().enumerate().map(|(rank, &bytes)| Run::own(rank, bytes)).collect();
    let mut all = Vec::new();
    while cubes.len() > 1 {
        let pairs = cubes.chunks(2).map(|pair| match *pair {
            [left, right] => {
                let join = join(left, right, root, rule);
                all.push(join);
                join.joined
            }
            _ => pair[0],
        });
        cubes = pairs.collect();
    }
    all.retain(|join| join.sent.bytes > 0);
    all
}
