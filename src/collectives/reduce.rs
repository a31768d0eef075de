//! Binomial reduction to rank 0.
//!
//! In step k a rank with bit k set sends what it has to the rank without it and is done; the other combines.
//! ceil(log2 p) steps, each t_s + m t_w + the combination of m bytes.

use crate::schedule::{Buffer, Builder, ReduceOp, Schedule, SendMode, Span};
use crate::topology::Rank;

/// Where a partner's lanes arrive; every step has its own place, so that partners may come in any order.
const PARTNER: Buffer = Buffer::Stage(0);

/// The reduction of 64-bit lanes in [`Buffer::Receive`], lane i with `ops[i]`.
pub fn binomial(rank: Rank, ranks: usize, ops: &[ReduceOp]) -> Schedule {
    let len = ops.len() as u64 * 8;
    let all = Span::new(Buffer::Receive, 0, len);
    let mut builder = Builder::default();
    let mut before = Vec::new();
    for step in (0..usize::BITS).take_while(|&step| 1 << step < ranks) {
        let bit = 1 << step;
        if rank & bit != 0 {
            builder.send(rank - bit, SendMode::Standard, all, &before);
            break;
        }
        if rank + bit < ranks {
            let place = u64::from(step) * len;
            let arrived = builder.receive(rank + bit, Span::new(PARTNER, place, len), &[]);
            let after: Vec<_> = before.iter().copied().chain([arrived]).collect();
            before = lanes(ops)
                .map(|(from, to, with)| combine(&mut builder, place + from, from, to, with, &after))
                .collect();
        }
    }
    builder.finish()
}

fn combine(builder: &mut Builder, from: u64, at: u64, len: u64, with: ReduceOp, after: &[u32]) -> u32 {
    let action = crate::schedule::Action::Reduce { from: Span::new(PARTNER, from, len), with };
    builder.op(action, Span::new(Buffer::Receive, at, len), after)
}

/// Neighbouring lanes with the same operation as one (offset, length, operation).
fn lanes(ops: &[ReduceOp]) -> impl Iterator<Item = (u64, u64, ReduceOp)> + '_ {
    let mut at = 0;
    ops.chunk_by(|a, b| a == b).map(move |same| {
        let len = same.len() as u64 * 8;
        at += len;
        (at - len, len, same[0])
    })
}
