//! Ring allgather: each step, every rank passes the block it got last to the next rank.
//!
//! p - 1 steps, in each one message a rank: (p - 1) t_s + (sum of all blocks) t_w for equal blocks.

use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::schedule::{Buffer, Builder, Schedule, SendMode};

/// See the module.
pub static RING: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "ring",
    about: "each step, every rank passes the block it got last to the next rank",
    source: "folklore; thesis, chapter 2",
    cost: "(p - 1) t_s + (p - 1) m t_w",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let (rank, ranks) = (problem.rank, problem.ranks());
    let mut builder = Builder::default();
    let block = |of| problem.place(Buffer::Receive, of, 1);
    let mut before = Vec::new();
    if problem.sizes[rank] > 0 {
        before.push(builder.copy(problem.own(Buffer::Send), block(rank), &[]));
    }
    for step in 1..ranks {
        let (sent, received) = ((rank + ranks - step + 1) % ranks, (rank + ranks - step) % ranks);
        if problem.sizes[sent] > 0 {
            builder.send((rank + 1) % ranks, SendMode::Standard, block(sent), &before);
        }
        if problem.sizes[received] > 0 {
            before.push(builder.receive((rank + ranks - 1) % ranks, block(received), &[]));
        }
        // A fabric may report two receives in either order; all messages go to one rank, so sends keep the steps' order.
        if before.len() > 1 {
            before = vec![builder.join(&before)];
        }
    }
    builder.finish()
}
