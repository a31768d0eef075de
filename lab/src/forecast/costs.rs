//! Converts a machine's parameters for the library's cost model, and asks that model for the choice of kernels.

use tributary::engine::Layered;
use tributary::engine::layers::Touched;
use tributary::engine::layers::{Candidate, Chooser, kernels};
use tributary::engine::{AccessStats, Phases, Roles};
use tributary::error::Result;
use tributary::exchange::cost::Costs;
use tributary::hints::{Hints, KernelHint};
use tributary::topology::Topology;

use super::collective_write::CollectiveWriteOptions;
use super::message_counts::MessageCounts;
use super::shared_file::SharedFile;
use crate::sim::Machine;
use crate::sim::machine::{CostLine, Host, Node, Path, Requests, Walk};

/// Number of picoseconds in a second.
const SECOND: f64 = 1e12;

/// Returns the costs of messages on `machine`, as the library's cost model takes them.
pub fn costs(machine: &Machine) -> Costs {
    let (host, network) = (&machine.host, &machine.paths[2]);
    let message = host.post_receive + host.receive + host.control;
    let there_and_back = network.eager.latency + network.short.latency + host.send + host.control;
    Costs {
        eager: message / SECOND,
        eager_byte: host.receive_byte / SECOND,
        eager_limit: machine.eager_limit as f64,
        rendezvous: (message + host.receive + host.rendezvous) / SECOND,
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

/// Returns a machine of which only the costs of messages are known: [`costs`] of the result are `known`. The machine
/// has no file servers. Where nothing was measured, a message inside a node takes as long to arrive as one between
/// nodes, and its bytes are copied once.
pub fn measured(name: &str, known: &Costs, ranks_per_node: usize) -> Machine {
    let seconds = |seconds: f64| seconds * SECOND;
    let receive = (known.rendezvous - known.eager).clamp(0.0, known.eager);
    let rest = seconds(known.eager - receive) / 2.0;
    let latency = (seconds(known.round_trip) - 2.0 * rest).max(0.0) / 2.0;
    let path = |byte| {
        let line = CostLine { latency, byte };
        Path { short: line, eager: line, rendezvous: line, short_limit: 0 }
    };
    let copy_byte = seconds(known.copy_byte);
    let node_byte = seconds(known.node_byte);
    let walk = seconds(known.walk);
    Machine {
        name: name.to_string(),
        about: "what `trib-lab tune machine` measured".to_string(),
        ranks_per_node,
        host: Host {
            send: rest,
            send_byte: seconds(known.eager_byte),
            post_receive: rest,
            receive: seconds(receive),
            receive_byte: seconds(known.eager_byte),
            control: rest,
            copy_byte,
            walk: Walk { near: walk, far: walk, knee: 0.0, end: 0.0 },
            ..Host::default()
        },
        paths: [path(copy_byte), path(copy_byte), path(seconds(known.rank_byte))],
        node: Node { inject_byte: node_byte, eject_byte: node_byte, ..Node::default() },
        eager_limit: known.eager_limit as u64,
        requests: Requests { visit: seconds(known.visit), merge: seconds(known.merge) },
        ..Machine::free()
    }
}

/// Returns the phases that the library chooses on `machine` for a write, and the hints with the chosen kernels in place
/// of `auto`.
///
/// # Errors
/// A rank list that is no permutation.
pub(super) fn chosen(
    machine: &Machine,
    CollectiveWriteOptions { topology, hints, .. }: &CollectiveWriteOptions,
    counts: &MessageCounts,
) -> Result<(Phases, Hints)> {
    let SharedFile { aggregators, domains, .. } = counts.file();
    let roles = Roles::new(0, topology, Touched::new(domains), aggregators.clone(), hints, costs(machine))?;
    let layers = roles.choose(&all(counts), domains, true);
    let [metadata, data] = kernels(hints, layers.layered);
    let is_open = [hints.metadata_kernel(), hints.data_kernel()].contains(&KernelHint::Auto);
    let mut fixed = Hints { kernel_meta: Some(metadata), kernel_data: Some(data), ..hints.clone() };
    if hints.num_aggrs_per_node == 0 && is_open {
        fixed.num_aggrs_per_node = layers.local;
    }
    Ok((roles.phases(layers, topology, hints)?, fixed))
}

/// Returns the library's chooser of kernels for these hints on `machine`.
pub fn chooser(machine: &Machine, topology: &Topology, aggregators: usize, hints: &Hints) -> Chooser {
    Chooser::from_hints(costs(machine), topology, aggregators, hints)
}

/// Returns the two choices that the library compares last, each with its predicted time: the flat kernel, and two
/// layers with the best number of local aggregators. Empty where there is nothing to choose.
pub fn alternatives(chooser: &Chooser, counts: &MessageCounts) -> Vec<Candidate> {
    let both = Layered { metadata: true, data: true };
    let ways = chooser.ranked(&all(counts), &counts.file().domains, (both, Layered::default()), true);
    let first = |layered| ways.iter().find(|one| one.way.layered.any() == layered).copied();
    first(false).into_iter().chain(first(true)).filter(|_| ways.len() > 1).collect()
}

/// Returns the amounts of a call that all ranks know, for the cost model.
fn all(counts: &MessageCounts) -> AccessStats {
    let (start, end) = counts.file().range;
    AccessStats { start, end, ..counts.amount }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costs_of_a_measured_machine_are_those_measured() {
        let slow = Costs { eager: 9e-6, rendezvous: 11e-6, round_trip: 80e-6, rank_byte: 4e-9, ..Costs::CLUSTER };
        for known in [Costs::CLUSTER, slow] {
            let machine = measured("here", &known, 4);
            let again = costs(&machine);
            for figure in tributary::machine::FIGURES {
                let value = |costs: &Costs| *(figure.of)(&mut costs.clone());
                let (one, other) = (value(&known), value(&again));
                assert!((one - other).abs() <= 1e-9 * one, "{}: {one} and {other}", figure.name);
            }
            assert_eq!((machine.ranks_per_node, machine.storage), (4, None));
        }
    }
}
