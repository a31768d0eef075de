//! An all-to-many exchange as a case: every rank has a block for each of the receivers.
//!
//! The throttle is one message at a time, so that the order of a kernel is visible. With more, one-port ranks choose
//! among the open messages.

use tributary::Rank;
use tributary::exchange::two_layer::{LocalAggregators, Share, TwoLayer};
use tributary::exchange::{BALANCED, Exchange, Kernel, RankList, ReceiverIndex, Transfer};
use tributary::schedule::{Buffer, Schedule, Span, Throttle};

use super::case::{AlgorithmCase, Contents};

/// Returns the range of block number `index` in `buffer`.
fn block(case: &AlgorithmCase, buffer: Buffer, index: usize) -> Span {
    Span::new(buffer, index as u64 * case.unit, case.unit)
}

/// Returns the messages that `rank` receives, if it is a receiver, from each (sender, number of blocks).
fn receives(case: &AlgorithmCase, rank: Rank, from: &[(Rank, usize)]) -> Vec<Transfer<Rank>> {
    let mut at = 0;
    let mut message = |&(peer, blocks): &(Rank, usize)| {
        let first = block(case, Buffer::Receive, at);
        at += blocks;
        Transfer { peer, span: Span { len: blocks as u64 * case.unit, ..first } }
    };
    if case.receivers.contains(&rank) { from.iter().map(&mut message).collect() } else { Vec::new() }
}

/// Returns the schedule of `rank` by a flat kernel.
pub fn flat(case: &AlgorithmCase, kernel: &Kernel, rank: Rank) -> Schedule {
    let all: Vec<_> = (0..case.ranks()).map(|from| (from, 1)).collect();
    let send = |index| Transfer { peer: ReceiverIndex(index), span: block(case, Buffer::Send, index) };
    let sends: Vec<_> = (0..case.receivers.len()).map(send).collect();
    let exchange = Exchange {
        rank,
        ranks: case.ranks(),
        receivers: &case.receivers,
        rank_list: &RankList::Identity,
        sends: &sends,
        receives: &receives(case, rank, &all),
    };
    exchange.schedule(kernel, Throttle::batch(1))
}

/// Returns the schedule of `rank` with one local aggregator per node, over the balanced kernel.
pub fn two_layer(case: &AlgorithmCase, rank: Rank) -> Schedule {
    let local = LocalAggregators::per_node(&case.topology, 1);
    let own: Vec<_> =
        (0..case.receivers.len()).map(|index| Share { aggregator: ReceiverIndex(index), len: case.unit }).collect();
    let members: Vec<_> = local.members_of(rank).into_iter().skip(1).map(|member| (member, own.clone())).collect();
    let merged: Vec<_> = local.all().into_iter().map(|from| (from, local.members_of(from).len())).collect();
    let exchange = TwoLayer {
        rank,
        ranks: case.ranks(),
        receivers: &case.receivers,
        rank_list: &RankList::Identity,
        local_aggregator: local.aggregator_of(rank),
        own: &own,
        members: &members,
        receives: &receives(case, rank, &merged),
    };
    exchange.schedule(&BALANCED, Throttle::batch(1), Throttle::batch(1))
}

/// Returns one part per receiver, with a block of every rank. A receiver's bar shows its own part.
pub fn contents(case: &AlgorithmCase) -> Contents {
    let (ranks, unit) = (case.ranks() as u64, case.unit);
    let start = |receiver: usize, rank: Rank| (receiver as u64 * ranks + rank as u64) * unit;
    let blocks = |rank| {
        (0..case.receivers.len()).map(move |receiver| (start(receiver, rank), start(receiver, rank) + unit)).collect()
    };
    let parts = case.receivers.iter().flat_map(|_| (0..case.ranks()).map(|rank| (unit, rank))).collect();
    let own = |rank| {
        let receiver = case.receivers.iter().position(|&receiver| receiver == rank)?;
        Some((start(receiver, 0), start(receiver + 1, 0)))
    };
    let brought = (0..case.ranks()).map(blocks).collect();
    Contents { parts, brought, combines: false, shown: (0..case.ranks()).map(own).collect() }
}
