//! Ranks and nodes, and on which node each rank runs.

use std::sync::Arc;

use crate::error::{Error, Result};

/// The number of a process (or of a thread that stands for one), from 0 to the number of ranks minus 1.
pub type Rank = usize;
/// The number of a shared-memory node, from 0, in the order of the lowest rank on each node.
pub type Node = usize;

/// The node of each rank. Cheap to clone. Takes O(1) memory if nodes have equal numbers of consecutive ranks;
/// otherwise O(ranks), shared between clones.
#[derive(Debug, Clone)]
pub struct Topology(Arc<RankPlacement>);

#[derive(Debug)]
enum RankPlacement {
    /// Nodes of consecutive ranks with equal size.
    Blocks { ranks: usize, ranks_per_node: usize },
    /// Other placements: the node of every rank, and the ranks of every node in ascending order.
    Listed { node_of: Vec<Node>, ranks_of: Vec<Vec<Rank>> },
}

impl Topology {
    /// Creates a topology of nodes with `ranks_per_node` consecutive ranks; the last node may have fewer.
    ///
    /// # Errors
    /// `ranks` or `ranks_per_node` is 0.
    pub fn blocks(ranks: usize, ranks_per_node: usize) -> Result<Self> {
        if ranks == 0 {
            return Err(Error::argument("ranks", 0, "1 or more"));
        }
        if ranks_per_node == 0 {
            return Err(Error::argument("ranks per node", 0, "1 or more"));
        }
        Ok(Self(Arc::new(RankPlacement::Blocks { ranks, ranks_per_node })))
    }

    /// Creates a topology from labels: `labels[r]` is any label of the node of rank `r`. Nodes are numbered in the
    /// order of the lowest rank on each. O(ranks).
    ///
    /// # Errors
    /// The list is empty.
    pub fn listed(labels: &[usize]) -> Result<Self> {
        if labels.is_empty() {
            return Err(Error::argument("ranks", 0, "1 or more"));
        }
        let mut number = std::collections::HashMap::new();
        let mut ranks_of: Vec<Vec<Rank>> = Vec::new();
        let node_of = labels
            .iter()
            .enumerate()
            .map(|(rank, label)| {
                let node = *number.entry(*label).or_insert(ranks_of.len());
                if node == ranks_of.len() {
                    ranks_of.push(Vec::new());
                }
                ranks_of[node].push(rank);
                node
            })
            .collect();
        if let Some(ranks_per_node) = equal_blocks(&ranks_of) {
            return Self::blocks(labels.len(), ranks_per_node);
        }
        Ok(Self(Arc::new(RankPlacement::Listed { node_of, ranks_of })))
    }

    /// Returns the number of all ranks.
    pub fn ranks(&self) -> usize {
        match &*self.0 {
            RankPlacement::Blocks { ranks, .. } => *ranks,
            RankPlacement::Listed { node_of, .. } => node_of.len(),
        }
    }

    /// Returns the number of nodes on which the ranks run.
    pub fn nodes(&self) -> usize {
        match &*self.0 {
            RankPlacement::Blocks { ranks, ranks_per_node } => ranks.div_ceil(*ranks_per_node),
            RankPlacement::Listed { ranks_of, .. } => ranks_of.len(),
        }
    }

    /// Returns the node of `rank`.
    pub fn node_of(&self, rank: Rank) -> Node {
        match &*self.0 {
            RankPlacement::Blocks { ranks_per_node, .. } => rank / ranks_per_node,
            RankPlacement::Listed { node_of, .. } => node_of[rank],
        }
    }

    /// Returns the number of ranks on `node`.
    pub fn ranks_on(&self, node: Node) -> usize {
        match &*self.0 {
            RankPlacement::Blocks { ranks, ranks_per_node } => (*ranks_per_node).min(ranks - node * ranks_per_node),
            RankPlacement::Listed { ranks_of, .. } => ranks_of[node].len(),
        }
    }

    /// Returns the `index`-th lowest rank on `node`.
    pub fn rank_at(&self, node: Node, index: usize) -> Rank {
        match &*self.0 {
            RankPlacement::Blocks { ranks_per_node, .. } => node * ranks_per_node + index,
            RankPlacement::Listed { ranks_of, .. } => ranks_of[node][index],
        }
    }

    /// Returns the maximum number of ranks on a node.
    pub fn ranks_per_node(&self) -> usize {
        (0..self.nodes()).map(|node| self.ranks_on(node)).max().unwrap_or(1)
    }

    /// Returns all ranks: the first rank of every node, then the second of every node, and so on. So consecutive entries are on
    /// different nodes (main paper, section III.A, the round-robin rank list).
    pub fn round_robin(&self) -> Vec<Rank> {
        let deepest = self.ranks_per_node();
        (0..deepest)
            .flat_map(|index| (0..self.nodes()).map(move |node| (node, index)))
            .filter(|&(node, index)| index < self.ranks_on(node))
            .map(|(node, index)| self.rank_at(node, index))
            .collect()
    }
}

/// Returns the number of ranks of a node, if nodes have equal numbers of consecutive ranks; the last may have fewer.
fn equal_blocks(ranks_of: &[Vec<Rank>]) -> Option<usize> {
    let each = ranks_of.first()?.len();
    let is_block = |(node, ranks): (usize, &Vec<Rank>)| {
        let is_equal = ranks.len() == each || node + 1 == ranks_of.len() && ranks.len() < each;
        // Ranks ascend, so these two say that they are consecutive.
        is_equal && ranks[0] == node * each && ranks[ranks.len() - 1] == node * each + ranks.len() - 1
    };
    ranks_of.iter().enumerate().all(is_block).then_some(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_the_same_listed_agree() {
        let blocks = Topology::blocks(7, 3).unwrap();
        let listed = Topology::listed(&[9, 9, 9, 4, 4, 4, 0]).unwrap();
        for topology in [&blocks, &listed] {
            assert_eq!((topology.ranks(), topology.nodes(), topology.ranks_per_node()), (7, 3, 3));
            assert_eq!(topology.ranks_on(2), 1);
            assert_eq!(topology.rank_at(1, 2), 5);
            assert_eq!(topology.round_robin(), [0, 3, 6, 1, 4, 2, 5]);
        }
    }

    #[test]
    fn equal_blocks_take_no_memory_for_each_rank() {
        for labels in [&[9, 9, 9, 4, 4, 4, 0][..], &[1], &[3, 2, 1], &[0, 0]] {
            assert!(matches!(*Topology::listed(labels).unwrap().0, RankPlacement::Blocks { .. }), "{labels:?}");
        }
        for labels in [&[0, 1, 0, 1][..], &[0, 0, 1, 1, 1], &[0, 1, 1], &[0, 0, 1, 0]] {
            let topology = Topology::listed(labels).unwrap();
            assert!(matches!(*topology.0, RankPlacement::Listed { .. }), "{labels:?}");
            assert!((0..labels.len()).all(|rank| topology.rank_at(topology.node_of(rank), 0) <= rank));
        }
    }

    #[test]
    fn nobody_is_refused() {
        assert!(Topology::blocks(0, 1).is_err());
        assert!(Topology::blocks(1, 0).is_err());
        assert!(Topology::listed(&[]).is_err());
    }
}
