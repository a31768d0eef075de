//! Dissemination allgather: Bruck's distances, towards higher ranks; every block is received at its final place.
//!
//! After Benson, Chu, Huang, Caglar, A comparison of MPICH allgather algorithms on switched networks (2003), named by
//! Bienz et al. 2022, section 2. In step i rank r sends the last min(2^i, p - 2^i) blocks it has to r + 2^i. Blocks
//! that wrap around the end of the rank order are two spans and so two messages. Only the own block is copied; there is
//! no staging buffer. ceil(log2 p) steps, at most twice as many messages a rank: at most 2 ceil(log2 p) t_s + (p - 1) m
//! t_w. O(p) memory for the sizes.

use super::Circle;
use crate::collectives::Group;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use tributary::schedule::{Buffer, Builder, OpId, Schedule, Span};

/// Dissemination allgather (see the module).
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
    let circle = Circle::new(problem.sizes.iter().copied());
    let mut builder = Builder::default();
    let mut before = Vec::new();
    if problem.sizes[problem.rank] > 0 {
        let place = problem.place(Buffer::Receive, problem.rank, 1);
        before.push(builder.copy(problem.own(Buffer::Send), place, &[]));
    }
    among(&Group::world(problem.rank, problem.ranks()), &circle, 0, &mut builder, before);
    builder.finish()
}

/// Gathers the contributions of the members of `group`, which lie one after the other from byte `at` of the receive
/// buffer on. Nothing starts before `before` is finished. A step's receives start after those of the step before, so a
/// member that is ahead does not occupy a port that others wait for. Returns the operations after which all
/// contributions are there.
pub fn among(group: &Group, circle: &Circle, at: u64, builder: &mut Builder, before: Vec<OpId>) -> Vec<OpId> {
    let (me, size) = (group.me(), group.size());
    let mut here = before;
    let mut held = 1;
    while held < size {
        let more = held.min(size - held);
        let from = (me + size - held) % size;
        // Blocks up to the sender's own.
        let last = |of: usize| pieces(circle, at, (of + 1 + size - more) % size, more);
        for span in last(me) {
            group.send(builder, (me + held) % size, span, &here);
        }
        let arrived: Vec<_> = last(from).filter_map(|span| group.receive(builder, from, span, &here)).collect();
        here.extend(arrived);
        held += more;
    }
    here
}

/// Returns the ranges of the receive buffer with the blocks of `count` members from `first` on: two if they wrap
/// around.
fn pieces(circle: &Circle, at: u64, first: usize, count: usize) -> impl Iterator<Item = Span> {
    let straight = count.min(circle.count() - first);
    let pieces = [(first, straight), (0, count - straight)];
    let span = |(first, count)| Span::new(Buffer::Receive, at + circle.begin(first), circle.bytes(first, count));
    pieces.map(span).into_iter()
}
