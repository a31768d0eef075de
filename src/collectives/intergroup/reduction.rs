//! Allreduce over two groups, by exchanges between the groups only.
//!
//! Each rank gets the numbers of the other group and combines them. The other group has then combined the numbers of this
//! group, and its first rank sends the result in a second exchange.

use super::{TwoGroups, of_known_sizes};
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// Combines each lane over the ranks of both groups; every rank of a group gets the results in `lanes`. Neither group may be
/// empty. Collective over all ranks of the endpoint. Two [`super::allgatherv`]s of 8 bytes a lane: from every rank, then from
/// one rank of each group.
///
/// # Errors
/// A group member that is not a rank: the same on all ranks, before anything is sent. Errors of the fabric.
pub async fn intergroup_allreduce(
    endpoint: &mut Endpoint,
    groups: &TwoGroups,
    ops: &[ReduceOp],
    lanes: &mut [u64],
) -> Result<()> {
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    groups.check(ranks)?;
    let len = 8 * lanes.len() as u64;
    let bytes = |lanes: &[u64]| lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect::<Vec<u8>>();
    let is_first = |rank: Rank| [groups.a(), groups.b()].iter().any(|group| group.first() == Some(&rank));

    let theirs = of_known_sizes(endpoint, groups, &vec![len; ranks], bytes(lanes)).await?;
    let theirs = combined(&theirs, ops);
    let sizes: Vec<u64> = (0..ranks).map(|rank| if is_first(rank) { len } else { 0 }).collect();
    let result = if is_first(rank) { bytes(&theirs) } else { Vec::new() };
    let ours = of_known_sizes(endpoint, groups, &sizes, result).await?;
    let ours = combined(&ours, ops);
    for (at, lane) in lanes.iter_mut().enumerate() {
        *lane = ops[at].apply(ours[at], theirs[at]);
    }
    Ok(())
}

/// The lanes of all ranks in `bytes`, combined. `bytes` has the lanes of one rank or more.
fn combined(bytes: &[u8], ops: &[ReduceOp]) -> Vec<u64> {
    let mut all = bytes.as_chunks::<8>().0.iter().map(|lane| u64::from_le_bytes(*lane));
    let mut lanes: Vec<u64> = all.by_ref().take(ops.len()).collect();
    for (at, lane) in all.enumerate() {
        let at = at % ops.len();
        lanes[at] = ops[at].apply(lanes[at], lane);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::fabric::threads;

    #[test]
    fn it_is_the_fold_over_both_groups() {
        for (p, q) in [(1, 1), (2, 1), (1, 3), (5, 3), (3, 8), (13, 4)] {
            let ranks = p + q;
            let all = threads::run(ranks, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
                // Even ranks first, then odd ranks: A has the first p of this order, B the rest.
                let mut order: Vec<Rank> = (0..ranks).step_by(2).chain((0..ranks).skip(1).step_by(2)).collect();
                let b = order.split_off(p);
                let groups = TwoGroups::new(order, b).unwrap();
                let ops = [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max];
                let mut lanes = [rank as u64 + 1, 100 - rank as u64, rank as u64 * 7 % 5];
                waiting.wait(pin!(intergroup_allreduce(&mut endpoint, &groups, &ops, &mut lanes))).unwrap();
                lanes
            });
            let largest = (0..ranks as u64).map(|rank| rank * 7 % 5).max().unwrap();
            let expected = [(ranks * (ranks + 1) / 2) as u64, 101 - ranks as u64, largest];
            assert!(all.unwrap().iter().all(|lanes| *lanes == expected), "{p} and {q}");
        }
    }
}
