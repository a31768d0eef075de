//! The balanced spread-out order (main paper, Algorithm 2, figure 1 (b)), and the list of ranks that it goes round.
//!
//! The p ranks of a rank list are divided into |R| groups of ceil(p / |R|) or floor(p / |R|) ranks, one for each receiver.
//! Receiver j starts with the first rank of its own group and goes round the list. As long as |R| <= p / 2, no two receivers
//! want the same sender at the same time, and the straggler effect is close to zero (section III.B, equation 5). With
//! |R| = p the order is the spread-out order.
//!
//! A receiver of n messages has ceil(n / w) batches of w messages. Time in the one-port model: as spread-out, without the
//! wait for stragglers.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Exchange, Kernel, ReceiverIndex};
use crate::error::{Error, Result};
use crate::schedule::SendMode;
use crate::topology::{Node, Rank, Topology};

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

/// An ordering of all ranks. The identity takes no memory; any other ordering takes O(ranks), and clones share the
/// memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankList {
    /// The order 0, 1, 2, ...: the paper's default.
    Identity,
    /// Any other ordering, stored as a list.
    Listed(Arc<Listed>),
}

/// An ordering that is stored as a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    position: Vec<u32>,
}

impl RankList {
    /// Returns the ordering with the first rank of every node, then the second of every node, and so on. Consecutive entries
    /// are on different nodes, unless one node has at least two more ranks than all other nodes together. O(ranks log nodes).
    pub fn node_round_robin(topology: &Topology) -> Self {
        Self::from_permutation(&in_turn(topology))
    }

    /// Returns the ordering that `list` gives, as ranks by position. O(ranks).
    ///
    /// # Errors
    /// `list` is not a permutation of 0 to its length - 1.
    pub fn explicit(list: Vec<Rank>) -> Result<Self> {
        let mut seen = vec![false; list.len()];
        for &rank in &list {
            if rank >= list.len() || std::mem::replace(&mut seen[rank], true) {
                let allowed = format!("each rank from 0 to {} once", list.len().saturating_sub(1));
                return Err(Error::hint("trib_rank_list", format!("{list:?}"), allowed));
            }
        }
        Ok(Self::from_permutation(&list))
    }

    fn from_permutation(list: &[Rank]) -> Self {
        let mut position = vec![0; list.len()];
        list.iter().enumerate().for_each(|(at, &rank)| position[rank] = at as u32);
        Self::Listed(Arc::new(Listed { position }))
    }

    /// Returns the position of `rank` in the list. O(1).
    #[inline]
    pub fn position(&self, rank: Rank) -> usize {
        match self {
            Self::Identity => rank,
            Self::Listed(listed) => listed.position[rank] as usize,
        }
    }
}

/// Returns all ranks such that nodes take turns. A node that has more than half of the remaining ranks goes first,
/// whenever another node has just had a turn: otherwise only its ranks would be left at the end. **Why no node then
/// follows itself if that can be avoided**: only one node can have more than half of them. If there is none, the next
/// node in turn may go, and afterwards no node has more than half of them plus one. If there is one, a rank of another
/// node separates each two of its ranks, as long as other nodes have ranks.
fn in_turn(topology: &Topology) -> Vec<Rank> {
    let mut left: Vec<usize> = (0..topology.nodes()).map(|node| topology.ranks_on(node)).collect();
    let mut by_left: BTreeSet<(usize, Node)> = left.iter().copied().zip(0..).collect();
    let mut turns: BTreeSet<Node> = (0..topology.nodes()).collect();
    let (mut list, mut last, mut turn) = (Vec::with_capacity(topology.ranks()), None, 0);
    while let Some(&(most, largest)) = by_left.last() {
        let rest = topology.ranks() - list.len();
        let others = || turns.range(turn..).chain(turns.range(..turn)).copied().find(|&node| last != Some(node));
        let node = match 2 * most > rest && last != Some(largest) {
            true => largest,
            false => others().unwrap_or(largest),
        };
        turn = node + 1;
        list.push(topology.rank_at(node, topology.ranks_on(node) - left[node]));
        by_left.remove(&(left[node], node));
        left[node] -= 1;
        match left[node] {
            0 => turns.remove(&node),
            left => by_left.insert((left, node)),
        };
        last = Some(node);
    }
    list
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::exchange::Transfer;
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

    /// Returns the ranks in the order of the list.
    fn listed(list: &RankList, ranks: usize) -> Vec<Rank> {
        let mut by_position = vec![usize::MAX; ranks];
        (0..ranks).for_each(|rank| by_position[list.position(rank)] = rank);
        by_position
    }

    proptest! {
        /// For any placement of ranks, the list is a permutation in which a node follows itself only as often as it
        /// must.
        #[test]
        fn nodes_are_interleaved(labels in prop::collection::vec(0usize..6, 1..60), per_node in 1usize..20) {
            for topology in [Topology::listed(&labels).unwrap(), Topology::blocks(labels.len(), per_node).unwrap()] {
                let list = listed(&RankList::node_round_robin(&topology), topology.ranks());
                let mut sorted = list.clone();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..topology.ranks()).collect::<Vec<_>>());
                let alike = list.windows(2).filter(|pair| topology.node_of(pair[0]) == topology.node_of(pair[1])).count();
                let most = topology.ranks_per_node();
                prop_assert_eq!(alike, most.saturating_sub(topology.ranks() - most + 1));
            }
        }

        /// On nodes of equal size, the list is the round-robin list: any part of it that is as long as the number of
        /// nodes has a rank of each node.
        #[test]
        fn equal_nodes_take_turns(nodes in 1usize..20, per_node in 1usize..20) {
            let topology = Topology::blocks(nodes * per_node, per_node).unwrap();
            let list = listed(&RankList::node_round_robin(&topology), topology.ranks());
            prop_assert_eq!(list, topology.round_robin());
        }
    }

    #[test]
    fn round_robin_interleaves_nodes() {
        let list = RankList::node_round_robin(&Topology::blocks(8, 4).unwrap());
        let by_position: Vec<_> = (0..8).map(|at| (0..8).find(|&r| list.position(r) == at).unwrap()).collect();
        assert_eq!(by_position, [0, 4, 1, 5, 2, 6, 3, 7], "the list of figure 1 (b)");
    }

    #[test]
    fn lists_that_are_no_permutation_are_refused() {
        assert!(RankList::explicit(vec![2, 0, 1]).is_ok());
        assert!(RankList::explicit(vec![0, 0, 1]).is_err());
        assert!(RankList::explicit(vec![0, 3, 1]).is_err());
    }
}
