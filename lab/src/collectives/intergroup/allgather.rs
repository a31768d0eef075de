//! Intergroup allgather with segments: whole blocks one way, blocks in segments the other, then an allgather inside
//! both.
//!
//! Paper: Kang, Träff, Al-Bahrani, Agrawal, Choudhary, Liao, Scalable Algorithms for MPI Intergroup Allgather and
//! Allgatherv (Parallel Computing 85, 2019), Algorithm 1. Of p >= q ranks the larger group A is divided into q
//! subgroups of neighbours whose sizes differ by at most one, the larger first (section 4). Rank j of B exchanges with
//! the ranks of subgroup j: each of these sends its block and receives a segment of b_j's block. The received bytes are
//! in rank order on both sides, so an allgather in place inside each group completes the operation. It is
//! dissemination, because section 4 counts log p startups.
//!
//! At most ceil(p/q) + 2 ceil(log2 p) rounds. 2 p messages between the groups, inside at most 2 p ceil(log2 p) + 2 q
//! ceil(log2 q); every rank gets every byte of the other group once. If q divides p, the transfer time is at most M +
//! k_B t_w, where M = max(p k_A, q k_B) t_w is the minimum (Theorem 1). Otherwise the largest subgroup takes longest: q
//! ceil(p/q) k_A in place of p k_A. Blocks of a group may differ in size, but they are not balanced. O(p + q) memory.

use super::Pair;
use super::exchange::{Side, share};
use crate::collectives::Rates;
use crate::collectives::algorithm::{Algorithm, Operation, Problem};
use crate::collectives::allgather::{Circle, disseminate};
use tributary::schedule::{Builder, Schedule};

/// Intergroup allgather for equal blocks, Algorithm 1 (see the module).
pub static ALLGATHER: Algorithm = Algorithm {
    operation: Operation::IntergroupAllgather,
    name: "allgather",
    about: "blocks of the larger group for segments of the smaller one's, then an allgather inside both groups",
    source: "Kang et al. 2019, Algorithm 1, equation 3",
    cost: "at most (ceil(p/q) + 2 ceil(log2 p)) t_s + (max(p k_A, q k_B) + k_B) t_w for p >= q that q divides",
    irregular: true,
    schedule,
};

fn schedule(problem: &Problem<'_>) -> Schedule {
    let Some(side) = Side::of(problem) else { return Schedule::default() };
    let mut builder = Builder::default();
    let (parts, done) = side.exchange(by_subgroups, &mut builder);
    disseminate(&side.group, &parts, 0, &mut builder, done);
    builder.finish()
}

/// Returns the parts of the full message of Algorithm 1. With more senders than receivers, every receiver gets the
/// blocks of a subgroup of senders. With fewer, every sender's block is cut into segments for a subgroup of receivers.
pub fn by_subgroups(blocks: &Circle, receivers: usize) -> Circle {
    let senders = blocks.count();
    if senders >= receivers {
        let mut first = 0;
        let whole = (0..receivers).map(|receiver| {
            let size = share(senders as u64, receivers, receiver) as usize;
            first += size;
            blocks.bytes(first - size, size)
        });
        return Circle::new(whole);
    }
    let segments = |sender| {
        let pieces = share(receivers as u64, senders, sender) as usize;
        (0..pieces).map(move |piece| share(blocks.bytes(sender, 1), pieces, piece))
    };
    Circle::new((0..senders).flat_map(segments))
}

/// Returns an upper bound of the time for equal blocks (first line of equation 3): the exchange, then the longer of the
/// two allgathers, whose steps have one or two messages. If q does not divide p, the larger subgroups and segments
/// count. The transfer time is exact if B's allgather is the longer.
pub fn time(rates: &Rates, pair: &Pair) -> f64 {
    let Pair { p, q, k_a, k_b } = pair.larger_first();
    let (most, fewest) = ((p / q).ceil(), (p / q).floor());
    let exchange = most * rates.startup + (most * k_a).max(k_b) * rates.byte;
    let messages = |ranks: f64| (2.0 * ranks.log2().ceil() - 1.0).max(0.0);
    let inside = |ranks: f64, part: f64| messages(ranks) * rates.startup + (ranks - 1.0) * part * rates.byte;
    exchange + inside(q, most * k_a).max(inside(p, k_b / fewest))
}

/// Returns the bound of Theorem 1 on the transfer time, M + k_B t_w, in seconds. The size of the smaller group must
/// divide the size of the larger.
pub fn bound(rates: &Rates, pair: &Pair) -> f64 {
    pair.least(rates) + pair.larger_first().k_b * rates.byte
}
