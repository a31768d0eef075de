//! Numbers of two groups combined over all ranks, by exchanges between the groups only.
//!
//! Each rank gets the numbers of the other group and combines them. Its own group's are missing; the other group has just
//! combined those, so the first rank of each group hands its result over in a second exchange.

use super::{TwoGroups, of_known_sizes};
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::schedule::ReduceOp;
use crate::topology::Rank;

/// Combines each lane over the ranks of both groups, neither of them empty; every one of them gets the results in `lanes`.
/// Two [`super::allgatherv`]s: of 8 bytes a lane from every rank, then from one rank of each group. Collective over all ranks of the endpoint.
///
/// # Errors
/// Groups with a member that is no rank, alike on all ranks and before anything is sent; the fabric's.
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
    let told = if is_first(rank) { bytes(&theirs) } else { Vec::new() };
    let ours = of_known_sizes(endpoint, groups, &sizes, told).await?;
    let ours = combined(&ours, ops);
    for (at, lane) in lanes.iter_mut().enumerate() {
        *lane = ops[at].apply(ours[at], theirs[at]);
    }
    Ok(())
}

/// The lanes of all ranks in `bytes`, combined; at least one rank's.
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
    fn it_is_the_fold_over_both() {
        for (p, q) in [(1, 1), (2, 1), (1, 3), (5, 3), (3, 8), (13, 4)] {
            let ranks = p + q;
            let all = threads::run(ranks, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let (rank, waiting) = (endpoint.rank(), endpoint.waiting().clone());
                // B is the odd ranks, as far as there are, and the last ones.
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
