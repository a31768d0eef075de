//! The rank list of the balanced kernel: any ordering of all ranks (main paper, Algorithm 2, line 4).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::balanced::first_of_group;
use crate::error::{Error, Result};
use crate::topology::{Node, Rank, Topology};

/// An ordering of all ranks. The identity takes no memory, any other takes O(ranks), which clones share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankList {
    /// 0, 1, 2, ...: the paper's default.
    Identity,
    /// Any other ordering.
    Listed(Arc<Listed>),
}

/// A listed ordering.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    position: Vec<u32>,
}

impl RankList {
    /// The first rank of every node, then the second of every node, and so on: consecutive entries are on different nodes,
    /// unless one node has more ranks than all others and one. O(ranks log nodes).
    pub fn node_round_robin(topology: &Topology) -> Self {
        Self::interleaved(topology, &(0..topology.nodes()).collect::<Vec<_>>(), 1)
    }

    /// As [`RankList::node_round_robin`] for `receivers` receivers of the kernel `balanced`, of which each begins on another
    /// node than the ones before it, as far as there are nodes: the groups of the round-robin list all begin on node 0 where
    /// their size is a multiple of the nodes, and then all receivers want messages from the same node at a time, one node
    /// after the other. `nodes` has each node once; neighbours in it serve a receiver one after the other. If they have
    /// different switches, so have the senders of a batch. O(ranks log nodes).
    pub fn interleaved(topology: &Topology, nodes: &[Node], receivers: usize) -> Self {
        Self::from_permutation(&interleave(topology, nodes, receivers))
    }

    /// The ordering `list`. O(ranks).
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

    /// The position of `rank` in the list. O(1).
    #[inline]
    pub fn position(&self, rank: Rank) -> usize {
        match self {
            Self::Identity => rank,
            Self::Listed(listed) => listed.position[rank] as usize,
        }
    }
}

/// All ranks, from the nodes in turn; for each group of the kernel `balanced`, from another node on. A node that has more than half of the ranks that are left goes first, whenever another
/// has just been: otherwise it would be alone at the end. **Why no node then follows itself where that can be avoided**: only
/// one node can have more than half. If none has, the next in turn may go and leaves none with more than half and one. If one
/// has, at least one rank of another node separates each two of its ranks while there are others.
fn interleave(topology: &Topology, nodes: &[Node], receivers: usize) -> Vec<Rank> {
    let mut left: Vec<usize> = nodes.iter().map(|&node| topology.ranks_on(node)).collect();
    let mut by_left: BTreeSet<(usize, usize)> = left.iter().copied().enumerate().map(|(at, left)| (left, at)).collect();
    let mut turns: BTreeSet<usize> = (0..nodes.len()).collect();
    let (mut list, mut last) = (Vec::with_capacity(topology.ranks()), None);
    let (mut turn, mut group) = (0, 0);
    while let Some(&(most, largest)) = by_left.last() {
        if group < receivers && list.len() == first_of_group(topology.ranks(), receivers, group) {
            turn = group * nodes.len() / receivers;
            group += 1;
        }
        let rest = topology.ranks() - list.len();
        let others = || turns.range(turn..).chain(turns.range(..turn)).copied().find(|&at| last != Some(at));
        let at = match 2 * most > rest && last != Some(largest) {
            true => largest,
            false => others().unwrap_or(largest),
        };
        turn = at + 1;
        list.push(topology.rank_at(nodes[at], topology.ranks_on(nodes[at]) - left[at]));
        by_left.remove(&(left[at], at));
        left[at] -= 1;
        match left[at] {
            0 => turns.remove(&at),
            left => by_left.insert((left, at)),
        };
        last = Some(at);
    }
    list
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The ranks by position.
    fn listed(list: &RankList, ranks: usize) -> Vec<Rank> {
        let mut by_position = vec![usize::MAX; ranks];
        (0..ranks).for_each(|rank| by_position[list.position(rank)] = rank);
        by_position
    }

    proptest! {
        /// Any placement, with nodes in any order: a permutation, in which a node follows itself only as often as it must.
        #[test]
        fn nodes_are_interleaved(labels in prop::collection::vec(0usize..6, 1..60), turn in 0usize..6, per_node in 1usize..20, receivers in 1usize..70) {
            for topology in [Topology::listed(&labels).unwrap(), Topology::blocks(labels.len(), per_node).unwrap()] {
                let mut nodes: Vec<Node> = (0..topology.nodes()).collect();
                nodes.rotate_left(turn % topology.nodes());
                let list = listed(&RankList::interleaved(&topology, &nodes, receivers), topology.ranks());
                let mut sorted = list.clone();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..topology.ranks()).collect::<Vec<_>>());
                let alike = list.windows(2).filter(|pair| topology.node_of(pair[0]) == topology.node_of(pair[1])).count();
                let most = topology.ranks_per_node();
                prop_assert_eq!(alike, most.saturating_sub(topology.ranks() - most + 1));
            }
        }

        /// Three equal nodes or more, a whole number of times in a group: every receiver has a node of its own at any time, and a receiver
        /// has all nodes before any twice.
        #[test]
        fn receivers_are_on_different_nodes(nodes in 3usize..20, times in 1usize..5) {
            let ranks = nodes * nodes * times;
            let topology = Topology::blocks(ranks, nodes * times).unwrap();
            let order: Vec<Node> = (0..nodes).rev().collect();
            let list = listed(&RankList::interleaved(&topology, &order, nodes), ranks);
            for step in 0..nodes {
                let at = |receiver: usize| topology.node_of(list[(receiver * nodes * times + step) % ranks]);
                let different: BTreeSet<Node> = (0..nodes).map(at).collect();
                prop_assert_eq!(different.len(), nodes, "step {}", step);
            }
            for window in list.chunks(nodes) {
                let different: BTreeSet<Node> = window.iter().map(|&rank| topology.node_of(rank)).collect();
                prop_assert_eq!(different.len(), nodes);
            }
        }

        /// Equal nodes: the round-robin list, from which any window as long as there are nodes has a rank of each.
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
