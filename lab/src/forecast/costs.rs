//! A machine's figures as the library's cost model wants them, and what it chooses by them.

use tributary::engine::Amount;
use tributary::engine::choice::{Candidate, Chooser, Layered};
use tributary::exchange::BALANCED;
use tributary::exchange::cost::Costs;
use tributary::hints::{Hints, KernelHint};
use tributary::topology::Topology;

use super::message_counts::MessageCounts;
use crate::sim::Machine;

/// Picoseconds of a second.
const SECOND: f64 = 1e12;

/// What messages cost on `machine`.
pub fn costs(machine: &Machine) -> Costs {
    let (host, network) = (&machine.host, &machine.paths[2]);
    let message = host.post_receive + host.receive + host.control;
    let there_and_back = network.eager.latency + network.short.latency + host.send + host.control;
    Costs {
        eager: message / SECOND,
        eager_byte: host.receive_byte / SECOND,
        eager_limit: machine.eager_limit as f64,
        rendezvous: (message + host.receive) / SECOND,
        round_trip: there_and_back / SECOND,
        rank_byte: network.rendezvous.byte / SECOND,
        node_byte: machine.node.inject_byte.max(machine.node.eject_byte) / SECOND,
        copy_byte: host.copy_byte / SECOND,
        visit: machine.requests.visit / SECOND,
        walk: host.walk.near / SECOND,
        merge: machine.requests.merge / SECOND,
        // Every simulated rank has a core.
        ..Costs::CLUSTER
    }
}

/// The hints with the kernels that the library chooses on `machine` where they say `auto`.
pub fn chosen(
    machine: &Machine,
    topology: &Topology,
    aggregators: usize,
    hints: &Hints,
    counts: &MessageCounts,
) -> Hints {
    let chooser = chooser(machine, topology, aggregators, hints);
    let is_open = |kernel| kernel == KernelHint::Auto;
    let is_layered = |kernel| kernel == KernelHint::TwoLayer;
    let open = Layered { metadata: is_open(hints.kernel_meta), data: is_open(hints.kernel_data) };
    let given = Layered { metadata: is_layered(hints.kernel_meta), data: is_layered(hints.kernel_data) };
    let way = chooser.choose(&all(counts), &counts.division.domains, open, given);
    let kernel = |given, layered| match given {
        KernelHint::Auto if layered => KernelHint::TwoLayer,
        KernelHint::Auto => KernelHint::Flat(&BALANCED),
        given => given,
    };
    let mut hints = hints.clone();
    hints.kernel_meta = kernel(hints.kernel_meta, way.layered.metadata);
    hints.kernel_data = kernel(hints.kernel_data, way.layered.data);
    if hints.num_aggrs_per_node == 0 && open.any() {
        hints.num_aggrs_per_node = way.local;
    }
    hints
}

/// The choices that the hints leave on `machine`.
pub fn chooser(machine: &Machine, topology: &Topology, aggregators: usize, hints: &Hints) -> Chooser {
    Chooser::of(costs(machine), topology, aggregators, hints)
}

/// The two choices that the library compares in the end, with what its cost model predicts: the flat kernel, and two layers with
/// the best number of local aggregators. Empty where there is nothing to choose.
pub fn alternatives(chooser: &Chooser, counts: &MessageCounts) -> Vec<Candidate> {
    let both = Layered { metadata: true, data: true };
    let ways = chooser.ranked(&all(counts), &counts.division.domains, both, Layered::default());
    let first = |layered| ways.iter().find(|one| one.way.layered.any() == layered).copied();
    first(false).into_iter().chain(first(true)).filter(|_| ways.len() > 1).collect()
}

/// What all ranks know of a call.
fn all(counts: &MessageCounts) -> Amount {
    let (start, end) = counts.division.range;
    let sizes = counts.sizes;
    let (bytes, requests, touched) = (sizes.bytes, sizes.extents, sizes.touched);
    Amount { start, end, bytes, requests, touched, ..Amount::NONE }
}
