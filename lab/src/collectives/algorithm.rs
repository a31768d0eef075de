//! Collective algorithms as data: a function from one rank's problem to one rank's schedule, with name, source and
//! cost.
//!
//! **Where bytes are.** A rank's contribution is in [`Buffer::Send`], and its result is in [`Buffer::Receive`]. Blocks
//! of several ranks lie there one after the other in rank order ([`Problem::place`]). Scratch space is
//! [`Buffer::Stage`].
//!
//! | operation | `Send` | `Receive` |
//! |---|---|---|
//! | allgather | the rank's own block | all blocks, in rank order |
//! | gather | the rank's own block | at the root: all blocks, in rank order |
//! | scatter | at the root: all blocks, in rank order | the rank's own block |
//! | broadcast | at the root: the message | the message, on every rank |
//! | reduce | the rank's own words | at the root: the combined words |
//! | allreduce | the rank's own words | the combined words, on every rank |
//! | intergroup allgather | the rank's own block | the blocks of the other group, in that group's order |
//!
//! A rank copies its own bytes and never sends them to itself. Empty messages are not sent. **A new algorithm** is one
//! file that defines a `static` [`Algorithm`], and one row in [`super::ALGORITHMS`]; the validators and the conformance
//! suite on both fabrics read the row.

use serde::{Deserialize, Serialize};

use crate::collectives::intergroup::TwoGroups;
use tributary::error::{Error, Result};
use tributary::schedule::{Buffer, ReduceOp, Schedule, Span};
use tributary::topology::{Rank, Topology};

/// Collective operation. The irregular forms (gatherv, ...) are the same operations with blocks of different sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Every rank gets the blocks of all.
    Allgather,
    /// The root gets the blocks of all.
    Gather,
    /// Every rank gets its block from the root.
    Scatter,
    /// Every rank gets the root's message.
    Broadcast,
    /// The root gets all ranks' words, combined.
    Reduce,
    /// Every rank gets all ranks' words, combined.
    Allreduce,
    /// Every rank of two groups gets the blocks of all ranks of the other group.
    IntergroupAllgather,
}

impl Operation {
    /// Returns the operation's name in hints and reports.
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

/// One rank's view of a collective operation. All fields but `rank` are equal on all ranks.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// This rank's number.
    pub rank: Rank,
    /// Number of ranks, and the node of each rank.
    pub topology: &'a Topology,
    /// Root rank, for operations that have a root.
    pub root: Rank,
    /// Bytes of every rank's block, by rank. For a broadcast or a reduction, the root's entry is the size of the
    /// message, and the others are ignored.
    pub sizes: &'a [u64],
    /// Operation by which a reduction combines words of 8 bytes.
    pub with: ReduceOp,
    /// Size of a segment in bytes, for algorithms that cut messages: a multiple of 8 above 0. For the ordered tree with
    /// a threshold: a subtree of more bytes goes to the root directly.
    pub segment: u64,
    /// The groups of an intergroup operation; with `None`, no rank takes part in one.
    pub groups: Option<&'a TwoGroups>,
}

impl Problem<'_> {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }

    /// Checks the problem. Call it before [`Algorithm::schedule`] if the numbers come from a user. Local.
    ///
    /// # Errors
    /// A root out of range, another number of sizes than of ranks, a segment that is not a multiple of 8 above 0, a
    /// group member that is not a rank. The error is the same on all ranks.
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

    /// Returns the range of bytes that the blocks of ranks `first..first + count` have in a buffer that holds all
    /// blocks in rank order. O(first + count).
    pub fn place(&self, buffer: Buffer, first: Rank, count: usize) -> Span {
        let offset = self.sizes[..first].iter().sum();
        Span::new(buffer, offset, self.sizes[first..first + count].iter().sum())
    }

    /// Returns the range of this rank's own block in a `buffer` that holds only this block.
    pub fn own(&self, buffer: Buffer) -> Span {
        Span::new(buffer, 0, self.sizes[self.rank])
    }

    /// Returns the range of the whole message of a broadcast or reduction in `buffer`.
    pub fn message(&self, buffer: Buffer) -> Span {
        Span::new(buffer, 0, self.sizes[self.root])
    }
}

/// Algorithm for one collective operation: a row of the registry.
#[derive(Debug)]
pub struct Algorithm {
    /// Operation that the algorithm does.
    pub operation: Operation,
    /// Name of the algorithm in hints and reports.
    pub name: &'static str,
    /// Description of the algorithm in one line.
    pub about: &'static str,
    /// Source of the algorithm: paper, section, equation or algorithm.
    pub source: &'static str,
    /// Formula of the algorithm's time. t_s: seconds to start a message; t_w: seconds a byte; t_c: seconds to combine a
    /// byte; p: ranks; m: bytes.
    pub cost: &'static str,
    /// True if the algorithm allows blocks of different sizes.
    pub irregular: bool,
    /// Function that returns the schedule of one rank; a pure function. It accepts any number of ranks, root and sizes
    /// that the operation allows.
    pub schedule: fn(&Problem<'_>) -> Schedule,
}
