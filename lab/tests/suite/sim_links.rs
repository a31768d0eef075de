//! Tests messages that occupy links in the simulator.

use crate::log_gops::{NS, lines};
use tributary::schedule::{Action, Buffer, Builder, Schedule, SendMode, Span};
use tributary::{Rank, Topology};
use tributary_lab::sim::machine::Machine;
use tributary_lab::sim::{Links, Schedules, run};

/// Dragonfly of two groups of two routers with two nodes each. A byte takes 1 ns out of a node, 2 ns between routers, 5
/// ns between groups.
const DRAGONFLY: Links =
    Links::Dragonfly { groups: 2, routers: 2, nodes: 2, between: 1, local: 2000.0, global: 5000.0 };
const LATENCY: u64 = 700;

fn machine(links: Links, hold_links: bool) -> Machine {
    Machine { paths: lines(LATENCY as f64 * NS, NS), links: Some(links), hold_links, ..Machine::free() }
}

/// Returns the time at which each message (sender, receiver, bytes) is received, in nanoseconds. Every rank is a node.
fn arrivals(machine: &Machine, ranks: usize, messages: &[(Rank, Rank, u64)]) -> Vec<u64> {
    let schedule = |rank: Rank| -> Schedule {
        let mut builder = Builder::default();
        for &(from, to, bytes) in messages {
            let span = Span::new(Buffer::Send, 0, bytes);
            if from == rank {
                builder.op(Action::Send { to, mode: SendMode::Standard }, span, &[]);
            }
            if to == rank {
                builder.op(Action::Receive { from }, span, &[]);
            }
        }
        builder.finish()
    };
    let topology = Topology::blocks(ranks, 1).unwrap();
    let outcome = run(machine, &topology, &Schedules::new((0..ranks).map(schedule).collect()), 0, |_| ()).unwrap();
    messages.iter().map(|&(_, to, _)| outcome.ranks[to].total / 1000).collect()
}

#[test]
fn one_message_takes_the_rate_of_the_slowest_link() {
    let machine = machine(DRAGONFLY, true);
    assert_eq!(arrivals(&machine, 8, &[(0, 1, 100)]), [LATENCY + 100]);
    assert_eq!(arrivals(&machine, 8, &[(0, 2, 100)]), [LATENCY + 200]);
    assert_eq!(arrivals(&machine, 8, &[(0, 4, 100)]), [LATENCY + 500]);
}

#[test]
fn two_messages_share_a_link_one_after_the_other() {
    let (held, off) = (machine(DRAGONFLY, true), machine(DRAGONFLY, false));
    // Nodes 0 and 1 are at one router, 2 and 3 at another of the group.
    assert_eq!(arrivals(&held, 8, &[(0, 2, 100), (1, 3, 50)]), [LATENCY + 200, LATENCY + 200 + 100]);
    assert_eq!(arrivals(&off, 8, &[(0, 2, 100), (1, 3, 50)]), [LATENCY + 100, LATENCY + 50]);
    // The route there and the route back use two links.
    assert_eq!(arrivals(&held, 8, &[(0, 2, 100), (3, 1, 50)]), [LATENCY + 200, LATENCY + 100]);
    // All nodes of a group to the other: one link, whatever comes before it.
    let across: Vec<_> = (0..4).map(|node| (node, node + 4, 10)).collect();
    let mut ends = arrivals(&held, 8, &across);
    ends.sort_unstable();
    assert_eq!(ends, [1, 2, 3, 4].map(|place| LATENCY + place * 50));
}

/// Checks that messages do not wait if no link is on two routes: one message a leaf switch, to different leaf switches,
/// in two levels.
#[test]
fn disjoint_ways_of_a_fat_tree_do_not_wait() {
    let tree = Links::FatTree { radix: 8, levels: 2, byte: 1000.0 };
    assert_eq!(tree.nodes(), 32);
    let shift: Vec<_> = (0..8).map(|leaf| (leaf * 4 + leaf % 4, (leaf + 3) % 8 * 4 + leaf % 3, 1000)).collect();
    assert_eq!(arrivals(&machine(tree, true), 32, &shift), [LATENCY + 1000; 8]);
    // With three levels, a permutation with disjoint routes takes as long as without links; one more message on an
    // occupied link waits.
    let tree = Links::FatTree { radix: 4, levels: 3, byte: 1000.0 };
    let mut used = std::collections::HashSet::new();
    let mut disjoint = Vec::new();
    for from in 0..16 {
        let free = |to: &Rank| {
            from != *to
                && disjoint.iter().all(|(_, other, _)| other != to)
                && tree.route(from, *to).iter().all(|link| !used.contains(&link.index))
        };
        if let Some(to) = (0..16).rev().find(free) {
            used.extend(tree.route(from, to).iter().map(|link| link.index));
            disjoint.push((from, to, 1000));
        }
    }
    assert!(disjoint.len() > 8, "{disjoint:?}");
    assert_eq!(arrivals(&machine(tree, true), 16, &disjoint), vec![LATENCY + 1000; disjoint.len()]);
}

#[test]
fn more_nodes_than_places_are_refused() {
    let topology = Topology::blocks(9, 1).unwrap();
    let none = Schedules::new(vec![Schedule::default(); 9]);
    let error = run(&machine(DRAGONFLY, true), &topology, &none, 0, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "nodes: 9; allowed: 1 to 8, the links' places");
    assert!(run(&machine(DRAGONFLY, false), &topology, &none, 0, |_| ()).is_ok());
}
