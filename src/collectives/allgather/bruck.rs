//! Bruck allgather: in each step every rank sends one message to a lower rank, and doubles the blocks that it has.
//!
//! Paper: Bienz, Gautam, Kharel, A Locality-Aware Bruck Allgather (EuroMPI/USA 2022), Algorithm 1, after Bruck et al. (1997).
//! In step i rank r sends the first min(2^i, p - 2^i) blocks it has to rank r - 2^i, and appends what it gets from
//! r + 2^i; a rotation at the end brings blocks into rank order. ceil(log2 p) messages a rank, p - 1 blocks of m bytes, two
//! copies: ceil(log2 p) t_s + (p - 1) m t_w (equation 1; equation 3 where every message leaves its region).
//! O(p) memory for the sizes.

use super::staged::{Circle, Gathered, Staged, part};
use crate::schedule::Span;
use crate::topology::Rank;

/// Gathers the contributions of `circle` among `ranks`; this rank is `ranks[me]` and contributes `own`. Empty contributions
/// are not sent. If only one is not empty, this is a broadcast in ceil(log2) steps in which each rank receives once.
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
