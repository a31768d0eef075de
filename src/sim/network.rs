//! What is between ranks: paths, and the ports that ranks of a node share.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::Time;
use super::host::Host;
use super::machine::Machine;
use crate::topology::Topology;

/// Between which places a message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Socket,
    Node,
    Network,
}

/// Where a rank sits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) node: u32,
    pub(super) socket: u8,
}

impl Place {
    /// The places of all ranks; the ranks of a node fill its sockets one after the other.
    pub(super) fn all(topology: &Topology, sockets: usize) -> Vec<Self> {
        let mut places = vec![Self::default(); topology.ranks()];
        for node in 0..topology.nodes() {
            let ranks = topology.ranks_on(node);
            for index in 0..ranks {
                let socket = (index * sockets / ranks) as u8;
                places[topology.rank_at(node, index)] = Self { node: node as u32, socket };
            }
        }
        places
    }
}

impl Way {
    #[inline]
    pub(super) fn between(from: Place, to: Place) -> Self {
        if from.node != to.node {
            Self::Network
        } else if from.socket != to.socket {
            Self::Node
        } else {
            Self::Socket
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Ports {
    inject: Time,
    eject: Time,
}

/// The ports of all nodes, and the noise.
#[derive(Debug)]
pub(super) struct Network<'a> {
    machine: &'a Machine,
    ports: Vec<Ports>,
    random: Xoshiro256PlusPlus,
}

/// Picoseconds of a cost.
#[inline]
pub(super) fn ticks(cost: f64) -> Time {
    (cost + 0.5) as Time
}

impl<'a> Network<'a> {
    pub(super) fn new(machine: &'a Machine, nodes: usize, seed: u64) -> Self {
        let ports = vec![Ports::default(); nodes];
        Self { machine, ports, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Sends `bytes` at `now` through the ports of the rank and of its `node`: when the last of them arrives.
    #[inline]
    pub(super) fn transmit(&mut self, host: &mut Host, node: u32, way: Way, bytes: u64, now: Time) -> Time {
        let line = self.machine.paths[way as usize].line(bytes, self.machine.eager_limit);
        let mut begin = now.max(host.port);
        if way == Way::Network {
            let port = &mut self.ports[node as usize].inject;
            begin = begin.max(*port);
            *port = begin + ticks(self.machine.node.inject + bytes as f64 * self.machine.node.inject_byte);
        }
        host.port = begin + ticks(bytes as f64 * line.byte);
        let latency = line.latency;
        let last = &mut host.last[usize::from(way == Way::Network)];
        *last = (host.port + self.noisy(latency, self.machine.noise.latency)).max(*last);
        *last
    }

    /// When a control message sent at `now` arrives: it passes no port.
    #[inline]
    pub(super) fn control(&mut self, way: Way, now: Time) -> Time {
        let latency = self.machine.paths[way as usize].short.latency;
        now + self.noisy(latency, self.machine.noise.latency)
    }

    /// Lets a message that is at the node's door at `now` in: when it is.
    #[inline]
    pub(super) fn eject(&mut self, node: u32, bytes: u64, now: Time) -> Time {
        let body = ticks(bytes as f64 * self.machine.node.eject_byte);
        let port = &mut self.ports[node as usize].eject;
        let begin = now.saturating_sub(body).max(*port);
        *port = begin + ticks(self.machine.node.eject) + body;
        begin + body
    }

    /// A host's work, with noise.
    #[inline]
    pub(super) fn work(&mut self, cost: f64) -> Time {
        self.noisy(cost, self.machine.noise.host)
    }

    #[inline]
    fn noisy(&mut self, cost: f64, sigma: f64) -> Time {
        if sigma == 0.0 {
            return ticks(cost);
        }
        let normal: f64 = StandardNormal.sample(&mut self.random);
        ticks((cost * (1.0 + sigma * normal)).max(0.0))
    }
}
