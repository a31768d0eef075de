//! The rank list of the balanced kernel: an ordering of all ranks (main paper, Algorithm 2, line 4).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::topology::{Node, Rank, Topology};

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
    /// Returns the ordering with the first rank of every node, then the second of every node, and so on: consecutive
    /// entries are on different nodes, unless one node has at least two more ranks than all other nodes together.
    /// O(ranks log nodes).
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
/// whenever another node has just had a turn: otherwise its ranks would be alone at the end. **Why no node then
/// follows itself if that can be avoided**: only one node can have more than half. If none has, the next node in turn
/// may go, and afterwards no node has more than half and one. If one has, at least one rank of another node separates
/// each two of its ranks while there are others.
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
