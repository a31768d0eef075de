//! Collective operations as schedules: what the engine needs to agree, and the algorithms of the papers.
//!
//! One algorithm a file; each is a pure function to a schedule, with a row in [`ALGORITHMS`] ([`mod@algorithm`] says where
//! bytes are; `trib algorithms` lists them). The functions here run schedules on an endpoint. All are collective: every rank
//! of the endpoint calls them, in the same order on each.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@algorithm`] | the problem, the row of the registry |
//! | [`mod@allgather`] | every rank gets all blocks; three of them know nodes |
//! | [`mod@gatherv`] | irregular gather and scatter; the ordered tree, and its construction from sizes known only locally |
//! | [`mod@broadcast`], [`reduce`], [`mod@allreduce`] | the algorithms of the thesis |
//! | [`in_place`], [`mod@hierarchical`] | algorithms among any ranks, and hierarchies of them |
//! | [`intergroup`] | every rank of one group gets the blocks of another group |
//! | `group`, `blocks`, `division`, `fold` | what they share: ranks, cuts, trees, combining |
//! | `gather` | the linear gather that the engine's statistics use |

pub mod algorithm;
pub mod allgather;
pub mod allreduce;
mod blocks;
pub mod broadcast;
mod division;
mod fold;
mod gather;
pub mod gatherv;
mod group;
pub mod hierarchical;
pub mod in_place;
pub mod intergroup;
pub mod reduce;

pub use algorithm::{Algorithm, Operation, Problem};
pub use allgather::locality_bruck;
pub use gatherv::{Gather, gatherv, scatterv};
pub use group::Group;
pub use hierarchical::{Groups, Scheme, hierarchical};
pub use in_place::InPlace;
pub use intergroup::{TwoGroups, intergroup_allgatherv};

use crate::error::{Error, Result};
use crate::fabric::{Buffers, Endpoint};
use crate::schedule::{Buffer, Builder, ReduceOp, Schedule, Span};
use crate::topology::{Rank, Topology};
use in_place::{Lanes, Part};

/// All algorithms, by operation.
pub static ALGORITHMS: &[&Algorithm] = &[
    &allgather::RING,
    &allgather::RECURSIVE_DOUBLING,
    &allgather::DISSEMINATION,
    &allgather::BRUCK,
    &allgather::HIERARCHICAL,
    &allgather::MULTI_LANE,
    &allgather::LOCALITY_BRUCK,
    gatherv::LINEAR.gather,
    gatherv::LINEAR_SYNCHRONIZED.gather,
    gatherv::BINOMIAL.gather,
    gatherv::MINIMUM_SPANNING_TREE.gather,
    gatherv::ORDERED.gather,
    &gatherv::ORDERED_GATHER_THRESHOLD,
    &gatherv::HIERARCHICAL_GATHER,
    gatherv::LINEAR.scatter,
    gatherv::LINEAR_SYNCHRONIZED.scatter,
    gatherv::BINOMIAL.scatter,
    gatherv::MINIMUM_SPANNING_TREE.scatter,
    gatherv::ORDERED.scatter,
    &gatherv::ORDERED_SCATTER_THRESHOLD,
    &gatherv::HIERARCHICAL_SCATTER,
    &broadcast::FLAT.algorithm,
    &broadcast::CHAIN.algorithm,
    &broadcast::PIPELINE.algorithm,
    &broadcast::BINARY.algorithm,
    &broadcast::SPLIT_BINARY.algorithm,
    &broadcast::BINOMIAL.algorithm,
    &broadcast::SCATTER_RING_ALLGATHER.algorithm,
    &broadcast::SCATTER_RECURSIVE_DOUBLING_ALLGATHER.algorithm,
    &hierarchical::BROADCAST,
    &reduce::FLAT.algorithm,
    &reduce::SEGMENTED_FLAT.algorithm,
    &reduce::CHAIN.algorithm,
    &reduce::PIPELINE.algorithm,
    &reduce::BINARY.algorithm,
    &reduce::BINOMIAL.algorithm,
    &reduce::IN_ORDER_BINARY.algorithm,
    &reduce::RABENSEIFNER.algorithm,
    &hierarchical::REDUCE,
    &allreduce::LINEAR.algorithm,
    &allreduce::NON_OVERLAPPING.algorithm,
    &allreduce::RECURSIVE_DOUBLING.algorithm,
    &allreduce::RING.algorithm,
    &allreduce::SEGMENTED_RING.algorithm,
    &allreduce::RABENSEIFNER.algorithm,
    &hierarchical::ALLREDUCE,
    &intergroup::allgather::ALLGATHER,
    &intergroup::allgatherv::ALLGATHERV,
    &intergroup::two_step::TWO_STEP,
    &intergroup::root_gathering::ROOT_GATHERING,
];

/// The algorithms among [`ALGORITHMS`] that work in place among any ranks: what a hierarchy is made of.
pub static IN_PLACE: &[&InPlace] = &[
    &broadcast::FLAT,
    &broadcast::CHAIN,
    &broadcast::PIPELINE,
    &broadcast::BINARY,
    &broadcast::SPLIT_BINARY,
    &broadcast::BINOMIAL,
    &broadcast::SCATTER_RING_ALLGATHER,
    &broadcast::SCATTER_RECURSIVE_DOUBLING_ALLGATHER,
    &reduce::FLAT,
    &reduce::SEGMENTED_FLAT,
    &reduce::CHAIN,
    &reduce::PIPELINE,
    &reduce::BINARY,
    &reduce::BINOMIAL,
    &reduce::IN_ORDER_BINARY,
    &reduce::RABENSEIFNER,
    &allreduce::LINEAR,
    &allreduce::NON_OVERLAPPING,
    &allreduce::RECURSIVE_DOUBLING,
    &allreduce::RING,
    &allreduce::SEGMENTED_RING,
    &allreduce::RABENSEIFNER,
];

/// The algorithms of gather and scatter among [`ALGORITHMS`] that work among any ranks: what a hierarchy is made of.
pub static GATHERS: &[&Gather] = &[
    &gatherv::LINEAR,
    &gatherv::LINEAR_SYNCHRONIZED,
    &gatherv::BINOMIAL,
    &gatherv::MINIMUM_SPANNING_TREE,
    &gatherv::ORDERED,
];

/// The algorithm of that operation and name.
pub fn algorithm(operation: Operation, name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().copied().find(|algorithm| algorithm.operation == operation && algorithm.name == name)
}

/// Tags of the schedules here; the engine's begin above.
const REDUCE: u16 = 0;
const BROADCAST: u16 = 1;
const GATHER: u16 = 2;
/// Of gatherv and scatterv: the construction of the tree, and the data.
const IRREGULAR: u16 = 3;
/// Of allgather.
const ALLGATHER: u16 = 4;
/// Of the allgather between two groups.
const INTERGROUP: u16 = 5;
/// The first tag that the collectives leave free.
pub const FIRST_FREE_TAG: u16 = 6;

/// Combines each lane over all ranks; every rank gets the results in `lanes`. Binomial reduction to rank 0, binomial
/// broadcast back: 2 ceil(log2 p) (t_s + 8 lanes t_w).
///
/// # Errors
/// The fabric's.
pub async fn allreduce(endpoint: &mut Endpoint, ops: &[ReduceOp], lanes: &mut [u64]) -> Result<()> {
    let mut buffers = Buffers::default();
    buffers.set(Buffer::Receive, lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect());
    let len = lanes.len() as u64 * 8;
    endpoint.run(received(endpoint, &reduce::BINOMIAL, 0, len, ops), &mut buffers, REDUCE).await?;
    endpoint.run(received(endpoint, &broadcast::BINOMIAL, 0, len, ops), &mut buffers, BROADCAST).await?;
    for (lane, bytes) in lanes.iter_mut().zip(buffers.get(Buffer::Receive).chunks_exact(8)) {
        *lane = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    Ok(())
}

/// The schedule of `algorithm` on the first `len` bytes of [`Buffer::Receive`] of every rank.
fn received(endpoint: &Endpoint, algorithm: &InPlace, root: Rank, len: u64, ops: &[ReduceOp]) -> Schedule {
    let part = Part {
        group: Group::world(endpoint.rank(), endpoint.ranks()),
        root,
        message: Span::new(Buffer::Receive, 0, len),
        lanes: Lanes::Each(ops),
        segment: u64::MAX,
    };
    let mut builder = Builder::default();
    (algorithm.append)(&part, &mut builder, &[]);
    builder.finish()
}

/// Gives every rank the bytes of `root`; the others' argument is ignored. Two binomial broadcasts, of the length and of
/// the bytes: 2 ceil(log2 p) t_s + ceil(log2 p) bytes t_w.
///
/// # Errors
/// The fabric's.
pub async fn broadcast(endpoint: &mut Endpoint, root: Rank, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut length = Buffers::default();
    length.set(Buffer::Receive, (bytes.len() as u64).to_le_bytes().to_vec());
    endpoint.run(received(endpoint, &broadcast::BINOMIAL, root, 8, &[]), &mut length, BROADCAST).await?;
    let length = u64::from_le_bytes(length.get(Buffer::Receive).try_into().unwrap_or_default());
    let mut body = Buffers::default();
    if endpoint.rank() == root {
        body.set(Buffer::Receive, bytes.to_vec());
    }
    endpoint.run(received(endpoint, &broadcast::BINOMIAL, root, length, &[]), &mut body, BROADCAST).await?;
    Ok(body.get(Buffer::Receive).to_vec())
}

/// Gives every rank the blocks of all, in rank order, by `how`; all are as long as `own`. Costs what the algorithm's row
/// says.
///
/// # Errors
/// The fabric's.
pub async fn allgather(endpoint: &mut Endpoint, topology: &Topology, how: &Algorithm, own: &[u8]) -> Result<Vec<u8>> {
    let sizes = vec![own.len() as u64; endpoint.ranks()];
    let (rank, with) = (endpoint.rank(), ReduceOp::Max);
    let problem = Problem { rank, topology, root: 0, sizes: &sizes, with, segment: u64::MAX - 7, groups: None };
    let mut buffers = Buffers::default();
    buffers.set(Buffer::Send, own.to_vec());
    endpoint.run((how.schedule)(&problem), &mut buffers, ALLGATHER).await?;
    Ok(buffers.get(Buffer::Receive).to_vec())
}

/// Brings the bytes of every rank to `root`, in rank order; the others get nothing. An allreduce of the longest length,
/// then one message a rank, at most 32 of them outstanding: (2 ceil(log2 p) + p) t_s + (sum of bytes) t_w.
///
/// # Errors
/// The fabric's.
pub async fn gather(endpoint: &mut Endpoint, root: Rank, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut longest = [bytes.len() as u64];
    allreduce(endpoint, &[ReduceOp::Max], &mut longest).await?;
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let mut slots = gather::Slots::new(bytes, rank, if rank == root { ranks } else { 0 });
    let schedule = gather::linear(rank, ranks, root, bytes.len() as u64, longest[0]);
    endpoint.run(schedule, &mut slots, GATHER).await?;
    Ok(slots.into_bodies())
}

/// Agrees on an outcome: if any rank brings an error, all ranks get the error of the lowest such rank.
///
/// # Errors
/// The agreed error, or the fabric's.
pub async fn agree<T>(endpoint: &mut Endpoint, outcome: Result<T>) -> Result<T> {
    let mut first = [if outcome.is_err() { endpoint.rank() as u64 } else { u64::MAX }];
    allreduce(endpoint, &[ReduceOp::Min], &mut first).await?;
    match (first[0], outcome) {
        (u64::MAX, Ok(value)) => Ok(value),
        (root, outcome) => Err(tell(endpoint, root as Rank, outcome.err().as_ref()).await?),
    }
}

/// Gives every rank the error of `root`.
///
/// # Errors
/// The fabric's.
pub async fn tell(endpoint: &mut Endpoint, root: Rank, error: Option<&Error>) -> Result<Error> {
    let internal = |what: String| Error::Internal { rank: root, what };
    let text = serde_json::to_vec(&error).unwrap_or_default();
    let text = broadcast(endpoint, root, &text).await?;
    let told: std::result::Result<Option<Error>, _> = serde_json::from_slice(&text);
    Ok(match told {
        Ok(Some(error)) => error,
        Ok(None) => internal("an error was announced, but none was told".to_string()),
        Err(cause) => internal(format!("an error could not be told: {cause}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::threads;
    use std::pin::pin;

    const WORLDS: [usize; 8] = [1, 2, 3, 5, 8, 13, 16, 33];

    /// Runs `program` on every rank of every world.
    fn on_all<T: Send>(program: impl Fn(&mut Endpoint) -> T + Sync) -> Vec<Vec<T>> {
        WORLDS.map(|ranks| threads::run(ranks, |t| program(&mut Endpoint::new(t))).unwrap()).into()
    }

    #[test]
    fn allreduce_is_the_fold() {
        for all in on_all(|endpoint| {
            let waiting = endpoint.waiting().clone();
            let me = endpoint.rank() as u64;
            let mut lanes = [me + 1, 100 - me, me * 7 % 5, me];
            let ops = [ReduceOp::Sum, ReduceOp::Min, ReduceOp::Max, ReduceOp::Sum];
            waiting.wait(pin!(allreduce(endpoint, &ops, &mut lanes))).unwrap();
            lanes
        }) {
            let p = all.len() as u64;
            let largest = (0..p).map(|r| r * 7 % 5).max().unwrap();
            assert!(all.iter().all(|&lanes| lanes == [p * (p + 1) / 2, 101 - p, largest, p * (p - 1) / 2]));
        }
    }

    #[test]
    fn broadcast_from_any_root_and_gather_to_any_root() {
        for all in on_all(|endpoint| {
            let waiting = endpoint.waiting().clone();
            let root = endpoint.ranks() / 2;
            let mine = vec![endpoint.rank() as u8; endpoint.rank() % 4];
            let told = waiting.wait(pin!(broadcast(endpoint, root, &mine))).unwrap();
            assert_eq!(told, vec![root as u8; root % 4]);
            waiting.wait(pin!(gather(endpoint, root, &mine))).unwrap()
        }) {
            let expected: Vec<_> = (0..all.len()).map(|r| vec![r as u8; r % 4]).collect();
            for (rank, got) in all.iter().enumerate() {
                assert_eq!(*got, if rank == all.len() / 2 { expected.clone() } else { Vec::new() });
            }
        }
    }

    #[test]
    fn all_get_the_error_of_the_lowest() {
        for all in on_all(|endpoint| {
            let (me, waiting) = (endpoint.rank(), endpoint.waiting().clone());
            let outcome = if me % 3 == 2 { Err(Error::Fabric(format!("rank {me}"))) } else { Ok(me) };
            waiting.wait(pin!(agree(endpoint, outcome)))
        }) {
            for (rank, outcome) in all.iter().enumerate() {
                let expected = if all.len() > 2 { Err(Error::Fabric("rank 2".into())) } else { Ok(rank) };
                assert_eq!(*outcome, expected);
            }
        }
    }
}
