//! Dissemination allgather: Bruck's distances, up the ranks, every block received where it belongs.
//!
//! After Benson, Chu, Huang, Caglar, A comparison of MPICH allgather algorithms on switched networks (2003), named by Bienz
//! et al. 2022, section 2. In step i rank r sends the last min(2^i, p - 2^i) blocks it has to r + 2^i. Blocks that go round
//! the end of the rank order are two spans and so two messages; nothing is staged and nothing copied but the own block.
//! ceil(log2 p) steps, at most twice as many messages a rank: at most 2 ceil(log2 p) t_s + (p - 1) m t_w. O(p) memory for
//! the sizes.

use super::staged::Circle;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::schedule::{Buffer, Builder, Schedule, SendMode, Span};

/// See the module.
pub static DISSEMINATION: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "dissemination",
    about: "each step, every rank sends all it has up the ranks, twice as far as before; in place, nothing is rotated",
    source: "Bienz et al. 2022, section 2; Benson et al. 2003",
    cost: "at most 2 ceil(log2 p) t_s + (p - 1) m t_w",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let (rank, ranks) = (problem.rank, problem.ranks());
    let circle = Circle::new(problem.sizes.iter().copied());
    let mut builder = Builder::default();
    let mut before = Vec::new();
    if problem.sizes[rank] > 0 {
        let place = Span::new(Buffer::Receive, circle.bytes(0, rank), problem.sizes[rank]);
        before.push(builder.copy(problem.own(Buffer::Send), place, &[]));
    }
    let mut held = 1;
    while held < ranks {
        let more = held.min(ranks - held);
        let from = (rank + ranks - held) % ranks;
        // Blocks up to the sender's own.
        let last = |of: usize| pieces(&circle, (of + 1 + ranks - more) % ranks, more);
        for span in last(rank) {
            builder.send((rank + held) % ranks, SendMode::Standard, span, &before);
        }
        for span in last(from) {
            before.push(builder.receive(from, span, &[]));
        }
        held += more;
    }
    builder.finish()
}

/// The blocks of `count` ranks from `first` on in the receive buffer: two spans where they go round, none where empty.
fn pieces(circle: &Circle, first: usize, count: usize) -> impl Iterator<Item = Span> {
    let straight = count.min(circle.count() - first);
    let pieces = [(first, straight), (0, count - straight)];
    let span = |(first, count)| Span::new(Buffer::Receive, circle.bytes(0, first), circle.bytes(first, count));
    pieces.map(span).into_iter().filter(|span| span.len > 0)
}
