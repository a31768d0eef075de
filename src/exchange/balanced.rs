//! The balanced spread-out order (main paper, Algorithm 2, figure 1 (b)).
//!
//! The p ranks of a rank list are divided into |R| groups of ceil(p / |R|) or floor(p / |R|) ranks, one for each receiver.
//! Receiver j starts with the first rank of its own group and goes round the list. As long as |R| <= p / 2, no two receivers
//! want the same sender at the same time, and the straggler effect is close to zero (section III.B, equation 5). With
//! |R| = p the order is the spread-out order.
//!
//! A receiver of n messages has ceil(n / w) batches of w messages. Time in the one-port model: as spread-out, without the
//! wait for stragglers.

use super::{Exchange, Kernel, ReceiverIndex};
use crate::schedule::SendMode;
use crate::topology::Rank;

/// The balanced kernel: Algorithm 2 of the main paper with the throttle of section IV.B.
pub static BALANCED: Kernel = Kernel {
    name: "balanced",
    about: "receiver j starts at the j-th group of the rank list",
    source: Some("Main paper, Algorithm 2, section III.B, equation 5"),
    cost: "(p - 1) t_s + k t_w for k bytes at each receiver, without the wait for stragglers",
    when: "Few aggregators among many ranks: each aggregator starts with a different group of ranks. `auto` uses it unless it uses two_layer.",
    mode: SendMode::Synchronous,
    default_limit: Some(32),
    coupled: false,
    step,
};

fn step(exchange: &Exchange<'_>, sender: Rank, receiver: ReceiverIndex) -> u64 {
    let first = first_of_group(exchange.ranks, exchange.receivers.len(), receiver.0);
    let position = exchange.rank_list.position(sender);
    ((position + exchange.ranks - first) % exchange.ranks) as u64
}

/// Returns the position in the rank list at which the group of receiver `j` begins. The first p mod |R| groups have
/// ceil(p / |R|) ranks, the others floor(p / |R|) (Algorithm 2, lines 5 to 10).
fn first_of_group(ranks: usize, receivers: usize, j: usize) -> usize {
    let (floor, large) = (ranks / receivers, ranks % receivers);
    j * floor + j.min(large)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{RankList, Transfer};
    use crate::schedule::{Action, Buffer, Span, Throttle};

    #[test]
    fn groups_partition_the_rank_list_in_all_index_cases() {
        // p mod |R| = 0, not 0, |R| = p, |R| = 1, |R| > p / 2, compared with lines 6 to 10 of the paper.
        for (p, r) in [(8usize, 4), (13, 5), (7, 7), (9, 1), (8, 5), (1, 1), (64, 63)] {
            let ceil = p.div_ceil(r);
            let q = p % r;
            for j in 0..r {
                let paper = if j < q { ceil * j } else { ceil * q + (j - q) * (p / r) };
                assert_eq!(first_of_group(p, r, j), paper, "p {p} |R| {r} j {j}");
            }
        }
    }

    #[test]
    fn figure_1b() {
        // Eight ranks, receivers 0 to 3, rank list 0 4 1 5 2 6 3 7. Each receiver begins with itself and one more sender.
        let rank_list = RankList::explicit(vec![0, 4, 1, 5, 2, 6, 3, 7]).unwrap();
        let receives: Vec<_> =
            (0..8).map(|peer| Transfer { peer, span: Span::new(Buffer::Receive, peer as u64, 1) }).collect();
        let first_two = [[0, 4], [1, 5], [2, 6], [3, 7]];
        for rank in 0..4 {
            let exchange = Exchange {
                rank,
                ranks: 8,
                receivers: &[0, 1, 2, 3],
                rank_list: &rank_list,
                sends: &[],
                receives: &receives,
            };
            let schedule = exchange.schedule(&BALANCED, Throttle::batch(2));
            let order: Vec<_> = schedule
                .ops()
                .iter()
                .filter_map(|op| match op.action {
                    Action::Receive { from } => Some(from),
                    _ => None,
                })
                .collect();
            assert_eq!(order[..2], first_two[rank], "receiver {rank}");
            let list = [0, 4, 1, 5, 2, 6, 3, 7];
            let rotated: Vec<_> = (0..8).map(|i| list[(2 * rank + i) % 8]).collect();
            assert_eq!(order, rotated);
        }
    }
}
