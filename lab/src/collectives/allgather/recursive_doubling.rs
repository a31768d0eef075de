//! Recursive doubling allgather: partners at doubling distances exchange all blocks that they have.
//!
//! Bienz et al. 2022, section 2; Thakur, Rabenseifner, Gropp (2005). With p = 2^k + e ranks, the first 2 e act in
//! pairs. The odd rank sends its block to the even one, which acts for both; at the end the odd rank receives all other
//! blocks in one or two messages. The blocks of an aligned group of actors belong to consecutive ranks, so every
//! message is one span in place. Powers of two: log2 p t_s + (p - 1) m t_w. Others: at most (floor(log2 p) + 3) t_s + 2
//! (p - 1) m t_w at the pairs. O(p) memory for the sizes.

use super::Circle;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use tributary::schedule::{Buffer, Builder, OpId, Schedule, SendMode, Span};
use tributary::topology::Rank;

/// Recursive doubling allgather (see the module).
pub static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "recursive_doubling",
    about: "partners at doubling distances swap all they have; ranks over a power of two go through a neighbour",
    source: "Bienz et al. 2022, section 2; Thakur et al. 2005",
    cost: "log2 p t_s + (p - 1) m t_w; p no power of two: at most (floor(log2 p) + 3) t_s + 2 (p - 1) m t_w",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let (rank, ranks) = (problem.rank, problem.ranks());
    let actors = 1 << ranks.ilog2();
    let pairs = ranks - actors;
    // Returns the first rank that actor `a` acts for, and the actor itself.
    let first = |a: usize| a + a.min(pairs);
    let blocks = Blocks(Circle::new(problem.sizes.iter().copied()));
    let mut builder = Builder::default();
    let own = blocks.span(rank, rank + 1);
    let mut before = Vec::new();
    if own.len > 0 {
        before.push(builder.copy(problem.own(Buffer::Send), own, &[]));
    }
    if rank < 2 * pairs && rank % 2 == 1 {
        send(&mut builder, rank - 1, own, &before);
        receive(&mut builder, rank - 1, blocks.span(0, rank), &mut before);
        receive(&mut builder, rank - 1, blocks.span(rank + 1, ranks), &mut before);
        return builder.finish();
    }
    if rank < 2 * pairs {
        receive(&mut builder, rank + 1, blocks.span(rank + 1, rank + 2), &mut before);
    }
    let me = if rank < 2 * pairs { rank / 2 } else { rank - pairs };
    for bit in (0..ranks.ilog2()).map(|step| 1 << step) {
        let partner = first(me ^ bit);
        let held = |base: usize| blocks.span(first(base), first(base + bit));
        let base = me & !(bit - 1);
        send(&mut builder, partner, held(base), &before);
        receive(&mut builder, partner, held(base ^ bit), &mut before);
    }
    if rank < 2 * pairs {
        send(&mut builder, rank + 1, blocks.span(0, rank + 1), &before);
        send(&mut builder, rank + 1, blocks.span(rank + 2, ranks), &before);
    }
    builder.finish()
}

struct Blocks(Circle);

impl Blocks {
    /// Returns the blocks of ranks `from..to` in the receive buffer.
    fn span(&self, from: Rank, to: Rank) -> Span {
        Span::new(Buffer::Receive, self.0.bytes(0, from), self.0.bytes(from, to - from))
    }
}

fn send(builder: &mut Builder, to: Rank, span: Span, before: &[OpId]) {
    if span.len > 0 {
        builder.send(to, SendMode::Standard, span, before);
    }
}

fn receive(builder: &mut Builder, from: Rank, span: Span, before: &mut Vec<OpId>) {
    if span.len > 0 {
        before.push(builder.receive(from, span, &[]));
    }
}
