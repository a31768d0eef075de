//! Chooses local aggregators: the ranks that gather data for their node (TAM; main paper, section II.B and figure 3
//! (d)).

use crate::topology::{Rank, Topology};

/// The local aggregator of every rank. The members of a local aggregator are neighbours in the ascending list of
/// their node's ranks; the lowest member is the local aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAggregators {
    aggregator_of: Vec<u32>,
}

impl LocalAggregators {
    /// Default number of local aggregators of a file: the paper's number.
    pub const IN_TOTAL: usize = 512;

    /// Chooses `per_node` local aggregators on every node; all ranks of a node that has fewer. O(ranks).
    pub fn per_node(topology: &Topology, per_node: usize) -> Self {
        Self::distribute(topology, |_| per_node)
    }

    /// Chooses local aggregators by the value of the hint `nc_num_aggrs_per_node`: that number on every node; 0 is
    /// the paper's default, 512 in all. O(ranks).
    pub fn from_hint(topology: &Topology, per_node: usize) -> Self {
        if per_node == 0 { Self::in_total(topology, Self::IN_TOTAL) } else { Self::per_node(topology, per_node) }
    }

    /// Distributes `total` local aggregators evenly over the nodes, at least one on each. O(ranks). With `total` or
    /// fewer ranks on equal nodes, every rank is its own local aggregator: below 512 ranks, the paper's default is
    /// the two-phase exchange.
    pub fn in_total(topology: &Topology, total: usize) -> Self {
        let (each, more) = (total / topology.nodes(), total % topology.nodes());
        Self::distribute(topology, |node| each + usize::from(node < more))
    }

    fn distribute(topology: &Topology, count_on: impl Fn(usize) -> usize) -> Self {
        let mut aggregator_of = vec![0; topology.ranks()];
        for node in 0..topology.nodes() {
            let ranks = topology.ranks_on(node);
            let count = count_on(node).clamp(1, ranks);
            for index in 0..ranks {
                // Group g holds the indices i with i * count / ranks = g; its first is ceil(g * ranks / count).
                let first = (index * count / ranks * ranks).div_ceil(count);
                aggregator_of[topology.rank_at(node, index)] = topology.rank_at(node, first) as u32;
            }
        }
        Self { aggregator_of }
    }

    /// Splits groups so that the members of each local aggregator are consecutive ranks. Bytes then reach an
    /// aggregator in rank order. If ranks are placed on nodes in turn (0, 2, 4, ... and 1, 3, 5, ...), every rank
    /// becomes its own local aggregator. O(ranks).
    pub fn with_consecutive_members(mut self) -> Self {
        let mut before = None;
        for (rank, aggregator) in self.aggregator_of.iter_mut().enumerate() {
            let here = *aggregator;
            *aggregator = match before {
                Some((node, first)) if node == here => first,
                _ => rank as u32,
            };
            before = Some((here, *aggregator));
        }
        self
    }

    /// Returns the local aggregator of `rank`; `rank` itself if it is one.
    pub fn aggregator_of(&self, rank: Rank) -> Rank {
        self.aggregator_of[rank] as Rank
    }

    /// Returns the local aggregator of every rank, indexed by rank.
    pub fn by_rank(&self) -> &[u32] {
        &self.aggregator_of
    }

    /// Returns true if any local aggregator gathers for another rank. O(ranks).
    pub fn has_members(&self) -> bool {
        (0..self.aggregator_of.len()).any(|rank| self.aggregator_of(rank) != rank)
    }

    /// Returns the members of local aggregator `rank`, the local aggregator itself first; empty if `rank` is no local
    /// aggregator. O(ranks).
    pub fn members_of(&self, rank: Rank) -> Vec<Rank> {
        (0..self.aggregator_of.len()).filter(|&r| self.aggregator_of(r) == rank).collect()
    }

    /// Returns the ranks of all local aggregators, ascending. O(ranks).
    pub fn all(&self) -> Vec<Rank> {
        (0..self.aggregator_of.len()).filter(|&r| self.aggregator_of(r) == r).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_a_node_and_sizes_differ_by_one() {
        for (ranks, per_node) in [(1, 1), (16, 4), (17, 5), (64, 64), (7, 3)] {
            let topology = Topology::blocks(ranks, per_node).unwrap();
            for wanted in 1..6 {
                let local = LocalAggregators::per_node(&topology, wanted);
                let mut covered = 0;
                for aggregator in local.all() {
                    let members = local.members_of(aggregator);
                    assert_eq!(members[0], aggregator);
                    assert!(members.iter().all(|&m| topology.node_of(m) == topology.node_of(aggregator)));
                    covered += members.len();
                }
                assert_eq!(covered, ranks);
                for node in 0..topology.nodes() {
                    let sizes: Vec<_> = (local.all().into_iter().filter(|&a| topology.node_of(a) == node))
                        .map(|a| local.members_of(a).len())
                        .collect();
                    assert_eq!(sizes.len(), wanted.min(topology.ranks_on(node)));
                    assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                }
            }
        }
    }

    #[test]
    fn consecutive_ranks_stay_together_and_others_are_split() {
        let blocks = LocalAggregators::per_node(&Topology::blocks(8, 4).unwrap(), 1);
        assert_eq!(blocks.clone().with_consecutive_members(), blocks);
        let mixed = LocalAggregators::per_node(&Topology::listed(&[0, 0, 1, 0, 0, 1]).unwrap(), 1);
        let cut = mixed.with_consecutive_members();
        assert_eq!((0..6).map(|rank| cut.aggregator_of(rank)).collect::<Vec<_>>(), [0, 0, 2, 3, 3, 5]);
    }

    #[test]
    fn the_papers_default_is_plain_below_512_ranks() {
        let topology = Topology::blocks(100, 8).unwrap();
        let local = LocalAggregators::from_hint(&topology, 0);
        assert!((0..100).all(|rank| local.aggregator_of(rank) == rank));
        assert_eq!(LocalAggregators::in_total(&Topology::blocks(1024, 64).unwrap(), 512).all().len(), 512);
    }
}
