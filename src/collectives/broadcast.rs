//! Binomial broadcast.
//!
//! Counting ranks from the root, a rank receives from the one without its lowest set bit and then sends to those with one
//! lower bit more, the farthest first. ceil(log2 p) (t_s + m t_w).

use crate::schedule::{Buffer, Builder, Schedule, SendMode, Span};
use crate::topology::Rank;

/// The broadcast of the first `len` bytes of [`Buffer::Receive`] from `root`.
pub fn binomial(rank: Rank, ranks: usize, root: Rank, len: u64) -> Schedule {
    let all = Span::new(Buffer::Receive, 0, len);
    let mut builder = Builder::default();
    let relative = (rank + ranks - root) % ranks;
    let absolute = |relative: usize| (relative + root) % ranks;
    let lowest = if relative == 0 { ranks.next_power_of_two() } else { relative & relative.wrapping_neg() };
    let mut before = Vec::new();
    if relative != 0 {
        before.push(builder.receive(absolute(relative - lowest), all, &[]));
    }
    let mut bit = lowest >> 1;
    while bit > 0 {
        if relative + bit < ranks {
            builder.send(absolute(relative + bit), SendMode::Standard, all, &before);
        }
        bit >>= 1;
    }
    builder.finish()
}
