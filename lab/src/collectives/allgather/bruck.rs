//! Bruck allgather: in each step every rank sends one message to a lower rank, and doubles the blocks that it has.
//!
//! Paper: Bienz, Gautam, Kharel, A Locality-Aware Bruck Allgather (EuroMPI/USA 2022), Algorithm 1, after Bruck et al.
//! (1997). In step i rank r sends the first min(2^i, p - 2^i) blocks it has to rank r - 2^i, and appends what it gets
//! from r + 2^i; a rotation at the end brings blocks into rank order. ceil(log2 p) messages a rank, p - 1 blocks of m
//! bytes, two copies: ceil(log2 p) t_s + (p - 1) m t_w (equation 1; equation 3 where every message leaves its region).
//! O(p) memory for the sizes.

use super::locality_bruck;
use super::staged::{Circle, Gathered, Staged, part};
use crate::collectives::algorithm::{Algorithm, Operation};
use tributary::schedule::Span;
use tributary::topology::Rank;

/// Bruck allgather (see the module).
pub static BRUCK: Algorithm = Algorithm {
    operation: Operation::Allgather,
    name: "bruck",
    about: "each step, every rank sends all it has down the ranks, twice as far as before; one rotation at the end",
    source: "Bienz et al. 2022, Algorithm 1, equation 3; Bruck et al. 1997",
    cost: "ceil(log2 p) t_s + (p - 1) m t_w",
    irregular: true,
    schedule: |problem| locality_bruck::of_levels(problem.rank, problem.sizes, &[]),
};

/// Gathers the contributions of `circle` among `ranks`; this rank is `ranks[me]` and contributes `own`. Empty
/// contributions are not sent. If only one contribution is not empty, the gather is a broadcast in ceil(log2) steps in
/// which each rank receives once.
pub fn among(staged: &mut Staged, ranks: &[Rank], circle: &Circle, me: usize, own: Span) -> Gathered {
    let count = ranks.len();
    if count == 1 {
        return Gathered { span: own, first: 0 };
    }
    let all = staged.scratch(circle.total());
    staged.copy([(own, part(all, 0, own.len))]);
    let mut held = 1;
    while held < count {
        let more = held.min(count - held);
        let from = (me + held) % count;
        staged.send(ranks[(me + count - held) % count], part(all, 0, circle.bytes(me, more)));
        staged.receive(ranks[from], part(all, circle.bytes(me, held), circle.bytes(from, more)));
        held += more;
    }
    Gathered { span: all, first: me }
}
