//! Collective algorithms as data: one rank's problem in, one rank's schedule out, and what is known of each.
//!
//! **Where bytes are.** A rank's contribution is in [`Buffer::Send`], what it gets in [`Buffer::Receive`]; blocks of several
//! ranks lie there one after the other in rank order ([`Problem::place`]). Scratch space is [`Buffer::Stage`].
//!
//! | operation | `Send` | `Receive` |
//! |---|---|---|
//! | allgather | the rank's own block | all blocks, in rank order |
//! | gather | the rank's own block | at the root: all blocks, in rank order |
//! | scatter | at the root: all blocks, in rank order | the rank's own block |
//! | broadcast | at the root: the message | the message, on every rank |
//! | reduce | the rank's own lanes | at the root: the combined lanes |
//! | allreduce | the rank's own lanes | the combined lanes, on every rank |
//! | intergroup allgather | the rank's own block | the blocks of the other group, in that group's order |
//!
//! A rank's own bytes are copied, never sent. Messages of no bytes are not sent. **A new algorithm** is one file that
//! defines a `static` [`Algorithm`], and one row in [`super::ALGORITHMS`]; the validators and the conformance suite on both
//! fabrics take it from there.

use serde::{Deserialize, Serialize};

use crate::collectives::intergroup::TwoGroups;
use crate::error::{Error, Result};
use crate::schedule::{Buffer, ReduceOp, Schedule, Span};
use crate::topology::{Rank, Topology};

/// What is done collectively. The irregular forms (gatherv, ...) are the same operations with sizes that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Every rank gets the blocks of all.
    Allgather,
    /// The root gets the blocks of all.
    Gather,
    /// Every rank gets its block of the root's.
    Scatter,
    /// Every rank gets the root's message.
    Broadcast,
    /// The root gets all ranks' lanes, combined.
    Reduce,
    /// Every rank gets all ranks' lanes, combined.
    Allreduce,
    /// Every rank gets the blocks of all ranks of the other of two groups.
    IntergroupAllgather,
}

impl Operation {
    /// As hints and reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allgather => "allgather",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::IntergroupAllgather => "intergroup_allgather",
        }
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// One rank's view of a collective operation. Equal on all ranks but for `rank`.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// This rank.
    pub rank: Rank,
    /// Ranks and nodes.
    pub topology: &'a Topology,
    /// Where the operation begins or ends, if it has a root.
    pub root: Rank,
    /// Bytes of every rank's block, by rank; of a broadcast, a reduction: the message's at the root's place, and only that
    /// one counts.
    pub sizes: &'a [u64],
    /// How lanes of 8 bytes are combined, where they are.
    pub with: ReduceOp,
    /// Bytes of a segment, for algorithms that cut messages; above 0, a multiple of 8. For the ordered tree with a
    /// threshold: a subtree of more bytes goes to the root directly.
    pub segment: u64,
    /// The groups of an operation between two groups; without them, no rank is in either.
    pub groups: Option<&'a TwoGroups>,
}

impl Problem<'_> {
    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }

    /// Whether algorithms can be asked for it. Call it before [`Algorithm::schedule`] with numbers from outside.
    ///
    /// # Errors
    /// A root out of range, a number of sizes that is not that of ranks, a segment that is 0 or no multiple of 8, a group
    /// with a member that is no rank: alike on all ranks.
    pub fn check(&self) -> Result<()> {
        let ranks = self.ranks();
        if self.root >= ranks {
            return Err(Error::argument("root", self.root, format!("0 to {}", ranks - 1)));
        }
        if self.sizes.len() != ranks {
            return Err(Error::argument("number of sizes", self.sizes.len(), format!("{ranks}, one a rank")));
        }
        if self.segment == 0 || !self.segment.is_multiple_of(8) {
            return Err(Error::argument("segment", self.segment, "a multiple of 8 above 0"));
        }
        self.groups.map_or(Ok(()), |groups| groups.check(ranks))
    }

    /// Where the blocks of ranks `first..first + count` lie in a buffer that holds all in rank order. O(count + first).
    pub fn place(&self, buffer: Buffer, first: Rank, count: usize) -> Span {
        let offset = self.sizes[..first].iter().sum();
        Span::new(buffer, offset, self.sizes[first..first + count].iter().sum())
    }

    /// This rank's own block where it stands alone, at the start of `buffer`.
    pub fn own(&self, buffer: Buffer) -> Span {
        Span::new(buffer, 0, self.sizes[self.rank])
    }

    /// The message of a broadcast or reduction, in `buffer`.
    pub fn message(&self, buffer: Buffer) -> Span {
        Span::new(buffer, 0, self.sizes[self.root])
    }
}

/// One algorithm of one operation.
#[derive(Debug)]
pub struct Algorithm {
    /// What it does.
    pub operation: Operation,
    /// As hints and reports name it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Where it is from: paper, section, equation or algorithm.
    pub source: &'static str,
    /// Its cost in words and t_s, t_w.
    pub cost: &'static str,
    /// Whether blocks may differ in size.
    pub irregular: bool,
    /// The schedule of one rank. Pure; for any rank count, root and sizes that the operation allows.
    pub schedule: fn(&Problem<'_>) -> Schedule,
}
