//! Chooses which ranks are aggregators: pure functions of the topology, the number of aggregators, and the hints.
//!
//! | placement | aggregator i of A on n nodes |
//! |---|---|
//! | `default` | on node i mod n, the lowest rank not yet taken there (ROMIO's order; main paper, section V: ranks 64 i) |
//! | `stride:K` | rank K i |
//! | `spread` | A <= n: lowest rank of node floor(n i / A); else every p/A-th rank, counted node by node |
//! | `lowest_per_node` | lowest rank of node i; one on every node unless `cb_nodes` is less |
//! | `list:...` | as given |
//!
//! The paper writes floor(n / A) i for the spread placement. That is the same if A divides n (as in all its runs);
//! otherwise it leaves the last nodes without an aggregator.

use tributary_base::{Error, Node, Rank, Result, Topology};

use crate::hints::{DriverHints, Placement};

const KEY: &str = "trib_placement";

/// Returns the ranks that are aggregators, in ascending order. Their number is `cb_nodes`, or else `wanted`, reduced
/// to the number of ranks and to the number that `cb_config_list` permits.
///
/// # Errors
/// [`Error::Hint`] if the placement names a rank that does not exist, or more ranks on a node than `cb_config_list` permits.
pub fn choose(topology: &Topology, hints: &DriverHints, wanted: usize) -> Result<Vec<Rank>> {
    let most = hints.cb_config_list.unwrap_or(usize::MAX);
    let room = (0..topology.nodes()).map(|node| topology.ranks_on(node).min(most)).sum();
    let count = hints.cb_nodes.unwrap_or(wanted).clamp(1, room);
    let mut ranks = match &hints.placement {
        Placement::Default => dealt(topology, count, most),
        Placement::LowestPerNode => dealt(topology, hints.cb_nodes.unwrap_or(topology.nodes()), 1),
        Placement::Spread => spread(topology, count, most, room),
        Placement::Stride(stride) => within(strided(topology, count, *stride)?, topology, most)?,
        Placement::List(ranks) => {
            distinct(KEY, ranks, topology.ranks())?;
            within(ranks.clone(), topology, most)?
        }
    };
    ranks.sort_unstable();
    Ok(ranks)
}

/// Returns the number of aggregators for drivers that know no number of servers: on each node `usual`, or `cb_config_list` if set.
pub fn per_node(topology: &Topology, hints: &DriverHints, usual: usize) -> usize {
    topology.nodes().saturating_mul(hints.cb_config_list.unwrap_or(usual))
}

/// Checks that all ranks of a list exist and that no rank is in it twice.
///
/// # Errors
/// [`Error::Hint`] with the key and the first rank that does not exist or is in the list twice.
pub fn distinct(key: &str, list: &[Rank], ranks: usize) -> Result<()> {
    let mut seen = vec![false; ranks];
    for &rank in list {
        match seen.get_mut(rank) {
            None => return Err(Error::hint(key, format!("rank {rank}"), format!("ranks below {ranks}"))),
            Some(true) => return Err(Error::hint(key, format!("rank {rank} twice"), "each rank once")),
            Some(seen) => *seen = true,
        }
    }
    Ok(())
}

/// Returns `count` ranks in turn from all nodes: first the lowest rank of each node, then the second of each, and so on,
/// at most `most` ranks of a node.
fn dealt(topology: &Topology, count: usize, most: usize) -> Vec<Rank> {
    (0..topology.ranks_per_node().min(most))
        .flat_map(|index| (0..topology.nodes()).map(move |node| (node, index)))
        .filter(|&(node, index)| index < topology.ranks_on(node))
        .map(|(node, index)| topology.rank_at(node, index))
        .take(count)
        .collect()
}

fn spread(topology: &Topology, count: usize, most: usize, room: usize) -> Vec<Rank> {
    let nodes = topology.nodes();
    if count <= nodes {
        return (0..count).map(|i| topology.rank_at(nodes * i / count, 0)).collect();
    }
    let (mut node, mut before): (Node, usize) = (0, 0);
    let seat = |i| {
        // Places for aggregators are counted node by node. `seat` ascends, so the walk over nodes goes forward only.
        let seat = room * i / count;
        while seat - before >= topology.ranks_on(node).min(most) {
            before += topology.ranks_on(node).min(most);
            node += 1;
        }
        topology.rank_at(node, seat - before)
    };
    (0..count).map(seat).collect()
}

fn strided(topology: &Topology, count: usize, stride: usize) -> Result<Vec<Rank>> {
    let ranks = topology.ranks();
    let missing = (0..count).find(|&i| i.saturating_mul(stride) >= ranks);
    match missing {
        None => Ok((0..count).map(|i| i * stride).collect()),
        Some(i) => {
            let value = format!("stride:{stride}");
            let reason = format!("aggregator {i} would be rank {} of {ranks}", i.saturating_mul(stride));
            let largest = (ranks - 1) / (count - 1);
            Err(Error::hint(KEY, value, format!("stride:{largest} or less, or cb_nodes={i} or less, because {reason}")))
        }
    }
}

/// Returns `ranks` if no node holds more than `most` of them, otherwise an error.
fn within(ranks: Vec<Rank>, topology: &Topology, most: usize) -> Result<Vec<Rank>> {
    let mut held = vec![0; topology.nodes()];
    ranks.iter().for_each(|&rank| held[topology.node_of(rank)] += 1);
    match held.iter().position(|&held| held > most) {
        None => Ok(ranks),
        Some(node) => {
            let reason =
                format!("{KEY} puts {} aggregators on the node of rank {}", held[node], topology.rank_at(node, 0));
            Err(Error::hint(
                "cb_config_list",
                format!("*:{most}"),
                format!("*:{} or more, because {reason}", held[node]),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(topology: &Topology, hints: DriverHints, wanted: usize) -> Vec<Rank> {
        choose(topology, &hints, wanted).unwrap()
    }

    fn refused(topology: &Topology, hints: DriverHints, wanted: usize) -> String {
        choose(topology, &hints, wanted).unwrap_err().to_string()
    }

    fn default() -> DriverHints {
        DriverHints::default()
    }

    fn placed(placement: Placement) -> DriverHints {
        DriverHints { placement, ..default() }
    }

    fn listed(ranks: &[Rank]) -> DriverHints {
        placed(Placement::List(ranks.to_vec()))
    }

    /// Sets the maximum number of aggregators on a node.
    fn most(most: usize, hints: DriverHints) -> DriverHints {
        DriverHints { cb_config_list: Some(most), ..hints }
    }

    fn count(count: usize, hints: DriverHints) -> DriverHints {
        DriverHints { cb_nodes: Some(count), ..hints }
    }

    /// Returns the number of aggregators on each node.
    fn held(topology: &Topology, ranks: &[Rank]) -> Vec<usize> {
        let mut held = vec![0; topology.nodes()];
        ranks.iter().for_each(|&rank| held[topology.node_of(rank)] += 1);
        held
    }

    #[test]
    fn the_paper_on_cori() {
        // 64 ranks per node, stripe count 64. On 64 nodes all placements are ranks 64 i; on 256 nodes the default stays
        // there and the spread one takes every fourth node.
        for nodes in [64, 256] {
            let cori = Topology::blocks(64 * nodes, 64).unwrap();
            let dense: Vec<Rank> = (0..64).map(|i| 64 * i).collect();
            let spread: Vec<Rank> = (0..64).map(|i| nodes / 64 * i * 64).collect();
            assert_eq!(chosen(&cori, default(), 64), dense);
            assert_eq!(chosen(&cori, placed(Placement::Stride(64)), 64), dense);
            assert_eq!(chosen(&cori, placed(Placement::Spread), 64), spread);
        }
    }

    #[test]
    fn the_paper_on_summit() {
        for nodes in [128, 512] {
            let summit = Topology::blocks(42 * nodes, 42).unwrap();
            let lowest: Vec<Rank> = (0..nodes).map(|node| 42 * node).collect();
            assert_eq!(chosen(&summit, default(), nodes), lowest);
            assert_eq!(chosen(&summit, placed(Placement::LowestPerNode), 7), lowest);
            assert_eq!(chosen(&summit, count(5, placed(Placement::LowestPerNode)), 7), lowest[..5]);
        }
    }

    #[test]
    fn few_nodes() {
        let blocks = Topology::blocks(16, 8).unwrap();
        assert_eq!(chosen(&blocks, default(), 5), [0, 1, 2, 8, 9]);
        assert_eq!(chosen(&blocks, placed(Placement::Spread), 4), [0, 4, 8, 12]);
        assert_eq!(chosen(&blocks, most(2, default()), 9), [0, 1, 8, 9]);
        assert_eq!(chosen(&blocks, count(99, default()), 1).len(), 16);
        assert_eq!(chosen(&blocks, listed(&[9, 0]), 1), [0, 9]);
        // Consecutive ranks on different nodes: `spread` goes by node, not by rank.
        let cyclic = Topology::listed(&[0, 1, 0, 1, 0, 1, 0, 1]).unwrap();
        assert_eq!(chosen(&cyclic, placed(Placement::Spread), 4), [0, 1, 4, 5]);
        assert_eq!(per_node(&blocks, &default(), 1), 2);
        assert_eq!(per_node(&blocks, &default(), 2), 4);
        assert_eq!(per_node(&blocks, &most(3, default()), 2), 6);
    }

    #[test]
    fn what_cannot_be_met() {
        let topology = Topology::blocks(16, 8).unwrap();
        assert_eq!(
            refused(&topology, placed(Placement::Stride(6)), 4),
            "hint trib_placement: `stride:6` is not allowed; allowed: stride:5 or less, or cb_nodes=3 or less, because \
             aggregator 3 would be rank 18 of 16"
        );
        assert_eq!(
            refused(&topology, most(3, placed(Placement::Stride(2))), 8),
            "hint cb_config_list: `*:3` is not allowed; allowed: *:4 or more, because trib_placement puts 4 aggregators on \
             the node of rank 0"
        );
        assert!(refused(&topology, listed(&[3, 16]), 1).contains("rank 16"));
        assert!(refused(&topology, listed(&[3, 3]), 1).contains("rank 3 twice"));
        assert!(refused(&topology, most(1, listed(&[3, 4])), 1).contains("*:2 or more"));
        assert!(refused(&topology, placed(Placement::Stride(1 << 63)), 3).contains("stride:7 or less"));
    }

    fn topologies() -> impl Strategy<Value = Topology> {
        prop_oneof![
            (1usize..60, 1usize..20).prop_map(|(ranks, per_node)| Topology::blocks(ranks, per_node).unwrap()),
            prop::collection::vec(0usize..6, 1..40).prop_map(|labels| Topology::listed(&labels).unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn sorted_unique_there_and_as_many_as_fit(
            topology in topologies(), wanted in 0usize..80, most in prop::option::of(1usize..5),
            placement in prop_oneof![Just(Placement::Default), Just(Placement::Spread)]
        ) {
            let hints = DriverHints { placement, cb_config_list: most, ..default() };
            let ranks = choose(&topology, &hints, wanted).unwrap();
            let most = most.unwrap_or(usize::MAX);
            let room: usize = (0..topology.nodes()).map(|node| topology.ranks_on(node).min(most)).sum();
            prop_assert!(ranks.is_sorted_by(|a, b| a < b));
            prop_assert!(ranks.iter().all(|&rank| rank < topology.ranks()));
            prop_assert_eq!(ranks.len(), wanted.clamp(1, room));
            prop_assert!(held(&topology, &ranks).iter().all(|&held| held <= most));
        }

        #[test]
        fn dealing_evens_out_and_is_the_round_robin_list(topology in topologies(), wanted in 1usize..80) {
            let ranks = chosen(&topology, default(), wanted);
            let mut list = topology.round_robin();
            list.truncate(wanted);
            list.sort_unstable();
            prop_assert_eq!(&ranks, &list);
            // A node has fewer than another by two or more only where it has no more ranks to give.
            let held = held(&topology, &ranks);
            let highest = held.iter().max().unwrap();
            prop_assert!((0..topology.nodes()).all(|n| held[n] + 1 >= *highest || held[n] == topology.ranks_on(n)));
        }

        #[test]
        fn spreading_keeps_equal_distances(nodes in 1usize..40, per_node in 1usize..12, wanted in 1usize..200) {
            let topology = Topology::blocks(nodes * per_node, per_node).unwrap();
            let ranks = chosen(&topology, placed(Placement::Spread), wanted);
            let unit = if wanted <= nodes { per_node } else { 1 };
            let gaps = || ranks.windows(2).map(|pair| (pair[1] - pair[0]) / unit).chain([(nodes * per_node - ranks[ranks.len() - 1]) / unit]);
            prop_assert!(gaps().max().unwrap() - gaps().min().unwrap() <= 1, "{ranks:?}");
            let held = held(&topology, &ranks);
            prop_assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1);
        }

        #[test]
        fn strides_and_lists_are_met_or_refused(topology in topologies(), wanted in 1usize..40, stride in 1usize..50) {
            let hints = placed(Placement::Stride(stride));
            let count = wanted.min(topology.ranks());
            match choose(&topology, &hints, wanted) {
                Ok(ranks) => prop_assert!(ranks.iter().copied().eq((0..count).map(|i| stride * i))),
                Err(_) => prop_assert!(stride * (count - 1) >= topology.ranks()),
            }
        }
    }
}
