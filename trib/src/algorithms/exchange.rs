//! An all-to-many exchange as a case: every rank has a block for each of the receivers.
//!
//! The throttle is one message at a time, so that the order of a kernel shows: with more, one-port ranks choose among what
//! is open.

use tributary::Rank;
use tributary::exchange::local::LocalAggregators;
use tributary::exchange::two_layer::{Share, TwoLayer};
use tributary::exchange::{BALANCED, Exchange, Kernel, RankList, Transfer};
use tributary::schedule::{Buffer, Schedule, Span, Throttle};

use super::case::{Case, Contents};

/// What is known of a kernel besides its row.
pub struct Facts {
    /// Its name.
    pub name: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// Its time in the one-port model.
    pub cost: &'static str,
}

/// What the two-layer exchange does: it has no row in the registry of flat kernels.
pub const TWO_LAYER: &str =
    "members hand all they have to a local aggregator on their node, which sends merged messages";

/// In the words of the kernels' heads.
static FACTS: &[Facts] = &[
    Facts {
        name: "ascending_isend",
        source: "Main paper, section IV.A",
        cost: "(sends + receives) t_s + bytes t_w of the busiest rank, and the contention of all at the same receiver",
    },
    Facts {
        name: "ascending_issend",
        source: "Main paper, sections IV.A and V",
        cost: "(sends + receives) t_s + bytes t_w of the busiest rank, and the contention of all at the same receiver",
    },
    Facts {
        name: "spread_out",
        source: "Main paper, Algorithm 1, section II.B, equation 4",
        cost: "(p - 1) t_s + k t_w for k bytes at each receiver; stragglers: (p - 1) sigma sqrt(1 / (2 pi)) more",
    },
    Facts {
        name: "balanced",
        source: "Main paper, Algorithm 2, section III.B, equation 5",
        cost: "(p - 1) t_s + k t_w for k bytes at each receiver, without the wait for stragglers",
    },
    Facts {
        name: "pairwise",
        source: "Main paper, section II.B, figure 3 (c)",
        cost: "(p - 1) t_s + k t_w for k bytes at each receiver, and what every step waits for its slowest",
    },
    Facts {
        name: "two_layer",
        source: "Main paper, sections II.B and V, figure 3 (d)",
        cost: "(q - 1) t_s + (bytes of the members) t_w inside the node, then the outer kernel's time with the local \
               aggregators in place of p",
    },
];

/// What is known of the kernel of that name; empty words if nothing.
pub fn facts(name: &str) -> &'static Facts {
    static NONE: Facts = Facts { name: "", source: "", cost: "" };
    FACTS.iter().find(|facts| facts.name == name).unwrap_or(&NONE)
}

/// Block number `index` of `buffer`.
fn block(case: &Case, buffer: Buffer, index: usize) -> Span {
    Span::new(buffer, index as u64 * case.unit, case.unit)
}

/// What `rank` receives if it is a receiver: `count` messages of so many blocks each.
fn receives(case: &Case, rank: Rank, from: &[(Rank, usize)]) -> Vec<Transfer> {
    let mut at = 0;
    let mut message = |&(peer, blocks): &(Rank, usize)| {
        let first = block(case, Buffer::Receive, at);
        at += blocks;
        Transfer { peer, span: Span { len: blocks as u64 * case.unit, ..first } }
    };
    if case.receivers.contains(&rank) { from.iter().map(&mut message).collect() } else { Vec::new() }
}

/// The part of `rank` by a flat kernel.
pub fn flat(case: &Case, kernel: &Kernel, rank: Rank) -> Schedule {
    let all: Vec<_> = (0..case.ranks()).map(|from| (from, 1)).collect();
    let sends: Vec<_> =
        (0..case.receivers.len()).map(|peer| Transfer { peer, span: block(case, Buffer::Send, peer) }).collect();
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

/// The part of `rank` with one local aggregator a node, over the balanced kernel.
pub fn two_layer(case: &Case, rank: Rank) -> Schedule {
    let local = LocalAggregators::per_node(&case.topology, 1);
    let own: Vec<_> = (0..case.receivers.len()).map(|aggregator| Share { aggregator, len: case.unit }).collect();
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
        tree: None,
        receives: &receives(case, rank, &merged),
    };
    exchange.schedule(&BALANCED, Throttle::batch(1), Throttle::batch(1))
}

/// A part for each receiver, in it a block of every rank; shown is a receiver's own.
pub fn contents(case: &Case) -> Contents {
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
