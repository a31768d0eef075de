//! Gathers among any ranks, as parts of a hierarchy: what they have, and the algorithms that can do it.

use std::cell::Cell;

use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Problem};
use crate::collectives::group::Group;
use crate::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span};

/// Blocks that pass through ranks other than the root lie here.
const PASSING: Buffer = Buffer::Stage(0);

/// One gather among the members of a group; equal on all members but for the group's own place, `own` and `into`.
pub struct Gathering<'a> {
    /// Who takes part.
    pub group: Group,
    /// The member that gets all blocks.
    pub root: usize,
    /// Bytes of every member's block.
    pub sizes: &'a [u64],
    /// Where this rank has its block when what is before is finished.
    pub own: Span,
    /// At the root: where all blocks go, in the members' order. The own block may lie at its place there already.
    pub into: Span,
    /// Bytes of a first segment, for algorithms that cut messages.
    pub segment: u64,
    /// Where space for what passes through this rank begins to be free.
    pub free: &'a Cell<u64>,
}

impl Gathering<'_> {
    /// Whether this rank is the root.
    pub fn is_root(&self) -> bool {
        self.group.me() == self.root
    }

    /// Space for `len` bytes that pass through this rank.
    pub fn passing(&self, len: u64) -> Span {
        Span::new(PASSING, self.free.replace(self.free.get() + len), len)
    }
}

/// Adds the operations of this rank's part, none of which starts before the given ones are finished; returns what must
/// finish before all blocks are at the root.
pub type Append = fn(&Gathering<'_>, &mut Builder, &[OpId]) -> Vec<OpId>;

/// An algorithm of gather and scatter among any ranks.
#[derive(Debug)]
pub struct Gather {
    /// What the registry holds of the gather.
    pub gather: &'static Algorithm,
    /// What the registry holds of the scatter.
    pub scatter: &'static Algorithm,
    /// The operations of the gather.
    pub append: Append,
    /// Those of the gather that, backwards, is the scatter.
    pub append_backwards: Append,
    /// The time that theory gives it for so many ranks and bytes of a block.
    pub time: fn(&Rates, f64, f64) -> f64,
}

impl Gather {
    /// The gather of one rank of all.
    pub fn gather(&self, problem: &Problem<'_>) -> Schedule {
        among_all(problem, self.append)
    }

    /// The scatter of one rank of all.
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

/// The scatter that a gather is backwards.
pub fn backwards(gather: Schedule) -> Schedule {
    // Only a reduction has no transpose.
    gather.transposed(SendMode::Standard).unwrap_or_default()
}
