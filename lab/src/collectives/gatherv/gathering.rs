//! Gathers among any ranks, from which hierarchies of gathers are built.

use std::cell::Cell;

use crate::collectives::Group;
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Problem};
use tributary::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span};

/// Buffer for the blocks that ranks other than the root receive and send on.
const FORWARDED: Buffer = Buffer::Stage(0);

/// One gather among the members of a group. All fields but the number of this rank in `group`, `own` and `into` are
/// equal on all members.
pub struct Gathering<'a> {
    /// Members of the gather.
    pub group: Group,
    /// Number of the member that gets all blocks.
    pub root: usize,
    /// Number of bytes of every member's block, by member number.
    pub sizes: &'a [u64],
    /// Range of this rank's block, valid once the operations before the gather are finished.
    pub own: Span,
    /// At the root: range that receives all blocks, in the members' order. The root's own block may lie there already.
    pub into: Span,
    /// Number of bytes of a block's first segment, for algorithms that cut messages.
    pub segment: u64,
    /// Offset of the free space for blocks that this rank forwards, in bytes.
    pub free: &'a Cell<u64>,
}

impl Gathering<'_> {
    /// Returns true if this rank is the root.
    pub fn is_root(&self) -> bool {
        self.group.me() == self.root
    }

    /// Reserves `len` bytes of buffer space for blocks that this rank receives and sends on.
    pub fn forwarded(&self, len: u64) -> Span {
        Span::new(FORWARDED, self.free.replace(self.free.get() + len), len)
    }
}

/// Function that adds this rank's operations of a gather, which start after the given ones. Returns the operations
/// after which all blocks are at the root.
pub type AppendGather = fn(&Gathering<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// An algorithm of gather and scatter among any ranks.
#[derive(Debug)]
pub struct Gather {
    /// Registry's row of the gather.
    pub gather: &'static Algorithm,
    /// Registry's row of the scatter.
    pub scatter: &'static Algorithm,
    /// Function that adds one rank's operations of the gather to a schedule.
    pub append: AppendGather,
    /// Function that adds the gather whose transpose is the scatter.
    pub append_backwards: AppendGather,
    /// Function that returns the time in seconds by the model of the source, for a number of ranks and a number of
    /// bytes of a block.
    pub time: fn(&Rates, f64, f64) -> f64,
}

impl Gather {
    /// Returns one rank's schedule of the gather among all ranks.
    pub fn gather(&self, problem: &Problem<'_>) -> Schedule {
        among_all(problem, self.append)
    }

    /// Returns one rank's schedule of the scatter among all ranks.
    pub fn scatter(&self, problem: &Problem<'_>) -> Schedule {
        backwards(among_all(problem, self.append_backwards))
    }
}

/// Returns one rank's schedule of a gather among all ranks, from [`Buffer::Send`] to the root's [`Buffer::Receive`].
pub fn among_all(
    problem: &Problem<'_>,
    append: impl Fn(&Gathering<'_>, &mut Builder, &[OpId]) -> Vec<OpId>,
) -> Schedule {
    let gathering = Gathering {
        group: Group::world(problem.rank, problem.ranks()),
        root: problem.root,
        sizes: problem.sizes,
        own: problem.own(Buffer::Send),
        into: problem.place(Buffer::Receive, 0, if problem.rank == problem.root { problem.ranks() } else { 0 }),
        segment: problem.segment,
        free: &Cell::new(0),
    };
    let mut builder = Builder::default();
    append(&gathering, &mut builder, &[]);
    builder.finish()
}

/// Returns the scatter that is the transpose of a gather: every send becomes a receive.
pub fn backwards(gather: Schedule) -> Schedule {
    // Only a schedule with a reduction has no transpose.
    gather.transposed(SendMode::Standard).unwrap_or_default()
}
