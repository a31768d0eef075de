//! Ring allgather: in each step, every rank sends the block that it received last to the next rank.
//!
//! p - 1 steps with one message a rank each: (p - 1) t_s + (sum of all blocks) t_w for equal blocks.

use crate::collectives::Group;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::blocks::{OWN, ring_allgather};
use tributary::schedule::{Buffer, Builder, Schedule};

/// Ring allgather (see the module).
pub static RING: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "ring",
    about: "each step, every rank passes the block it got last to the next rank",
    source: "Hasanov, thesis, chapter 2; folklore",
    cost: "(p - 1) t_s + (p - 1) m t_w",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let group = Group::world(problem.rank, problem.ranks());
    let mut builder = Builder::default();
    let block = |of| problem.place(Buffer::Receive, of, 1);
    let own = problem.own(Buffer::Send);
    let before: Vec<_> = (own.len > 0).then(|| builder.copy(own, block(problem.rank), &[])).into_iter().collect();
    ring_allgather(&group, block, OWN, &mut builder, &before);
    builder.finish()
}
