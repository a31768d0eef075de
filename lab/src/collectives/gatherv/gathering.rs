//! Gathers among any ranks, as parts of a hierarchy.

use std::cell::Cell;

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Problem};
use tributary::collectives::Group;
use tributary::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span};

/// The blocks that ranks other than the root forward.
const FORWARDED: Buffer = Buffer::Stage(0);

/// One gather among the members of a group. All fields but the group's own number, `own` and `into` are equal on all members.
pub struct Gathering<'a> {
    /// The members.
    pub group: Group,
    /// The member that gets all blocks.
    pub root: usize,
    /// Bytes of every member's block.
    pub sizes: &'a [u64],
    /// This rank's block, once the operations before the gather are finished.
    pub own: Span,
    /// At the root: the place of all blocks, in the members' order. The own block may lie there already.
    pub into: Span,
    /// Bytes of a first segment, for algorithms that cut messages.
    pub segment: u64,
    /// Begin of the free space for forwarded blocks.
    pub free: &'a Cell<u64>,
}

impl Gathering<'_> {
    /// Whether this rank is the root.
    pub fn is_root(&self) -> bool {
        self.group.me() == self.root
    }

    /// Reserves space for `len` bytes that this rank forwards.
    pub fn forwarded(&self, len: u64) -> Span {
        Span::new(FORWARDED, self.free.replace(self.free.get() + len), len)
    }
}

/// Adds this rank's operations of a gather, which start after the given ones. Returns the operations after which all blocks
/// are at the root.
pub type AppendGather = fn(&Gathering<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// An algorithm of gather and scatter among any ranks.
#[derive(Debug)]
pub struct Gather {
    /// The registry's row of the gather.
    pub gather: &'static Algorithm,
    /// The registry's row of the scatter.
    pub scatter: &'static Algorithm,
    /// Adds the gather.
    pub append: AppendGather,
    /// Adds the gather whose transpose is the scatter.
    pub append_backwards: AppendGather,
    /// The time in the model of the source, for a number of ranks and bytes of a block.
    pub time: fn(&Rates, f64, f64) -> f64,
}

impl Gather {
    /// One rank's schedule of the gather among all ranks.
    pub fn gather(&self, problem: &Problem<'_>) -> Schedule {
        among_all(problem, self.append)
    }

    /// One rank's schedule of the scatter among all ranks.
    pub fn scatter(&self, problem: &Problem<'_>) -> Schedule {
        backwards(among_all(problem, self.append_backwards))
    }
}

/// A gather among all ranks, from [`Buffer::Send`] to the root's [`Buffer::Receive`].
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

/// The scatter that is the transpose of a gather.
pub fn backwards(gather: Schedule) -> Schedule {
    // Only a schedule with a reduction has no transpose.
    gather.transposed(SendMode::Standard).unwrap_or_default()
}
