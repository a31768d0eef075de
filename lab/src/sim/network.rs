//! Simulated network between ranks: paths, and the ports that ranks of a node share.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::Time;
use super::links::Links;
use super::machine::Machine;
use tributary::topology::Topology;

/// Distance that a message goes: inside a socket, inside a node, or between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    Socket,
    Node,
    Network,
}

/// Node and socket of a rank, and the rank's own port.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Site {
    node: u32,
    socket: u8,
    /// Time at which the rank's port is free.
    port: Time,
    /// Arrival times of the rank's last message to its own node, and to another node. Messages of a rank do not
    /// overtake each other.
    last: [Time; 2],
}

impl Site {
    /// Returns the sites of all ranks; the ranks of a node fill the node's sockets one after the other.
    fn all(topology: &Topology, sockets: usize) -> Vec<Self> {
        let mut sites = vec![Self::default(); topology.ranks()];
        for node in 0..topology.nodes() {
            let ranks = topology.ranks_on(node);
            for index in 0..ranks {
                let socket = (index * sockets / ranks) as u8;
                sites[topology.rank_at(node, index)] = Self { node: node as u32, socket, ..Self::default() };
            }
        }
        sites
    }
}

/// Answer to a message that asks for its next link.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hold {
    /// The message occupies the link from this time on.
    From(Time),
    /// The route has no further link; the last byte leaves the last link at this time.
    Left(Time),
}

#[derive(Debug, Clone, Copy, Default)]
struct Ports {
    inject: Time,
    eject: Time,
}

/// Ports of all ranks and nodes, links, and noise.
#[derive(Debug)]
pub(super) struct Network<'a> {
    machine: &'a Machine,
    sites: Vec<Site>,
    ports: Vec<Ports>,
    /// For each link: the time when it is free, if messages occupy links.
    links: Vec<Time>,
    random: Xoshiro256PlusPlus,
}

/// Rounds a cost in picoseconds to a time.
#[inline]
pub(super) fn ticks(cost: f64) -> Time {
    // The cast goes through a signed number, for which processors have an instruction.
    (cost + 0.5) as i64 as Time
}

impl<'a> Network<'a> {
    pub(super) fn new(machine: &'a Machine, topology: &Topology, seed: u64) -> Self {
        let sites = Site::all(topology, machine.sockets);
        let ports = vec![Ports::default(); topology.nodes()];
        let links = machine.held_links().and_then(Links::count).unwrap_or(0);
        Self { machine, sites, ports, links: vec![0; links], random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    #[inline]
    pub(super) fn way(&self, from: u32, to: u32) -> Distance {
        let (from, to) = (&self.sites[from as usize], &self.sites[to as usize]);
        if from.node != to.node {
            Distance::Network
        } else if from.socket != to.socket {
            Distance::Node
        } else {
            Distance::Socket
        }
    }

    /// Sends `bytes` bytes at `now` through the ports of rank `from` and of its node. Returns the times when the first
    /// byte leaves the rank, and when the last does.
    #[inline]
    pub(super) fn inject(&mut self, from: u32, way: Distance, bytes: u64, now: Time) -> (Time, Time) {
        let line = self.machine.paths[way as usize].line(bytes, self.machine.eager_limit);
        let site = &mut self.sites[from as usize];
        let mut begin = now.max(site.port);
        if way == Distance::Network {
            let port = &mut self.ports[site.node as usize].inject;
            begin = begin.max(*port);
            *port = begin + ticks(self.machine.node.inject + bytes as f64 * self.machine.node.inject_byte);
        }
        site.port = begin + ticks(bytes as f64 * line.byte);
        (begin, site.port)
    }

    /// Returns the arrival time of the last of `bytes` bytes, which left rank `from` at `left`.
    #[inline]
    pub(super) fn travel(&mut self, from: u32, way: Distance, bytes: u64, left: Time) -> Time {
        let latency = self.machine.paths[way as usize].line(bytes, self.machine.eager_limit).latency;
        let travels = self.noisy(latency, self.machine.noise.latency);
        let last = &mut self.sites[from as usize].last[usize::from(way == Distance::Network)];
        *last = (left + travels).max(*last);
        *last
    }

    /// Returns true if messages occupy links.
    #[inline]
    pub(super) fn holds_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Occupies the link after `hops` others on the route of `bytes` bytes between two ranks. Returns the time from
    /// which the link is occupied or, if there is no further link, the time when the last byte has passed.
    pub(super) fn hold(&mut self, from: u32, to: u32, hops: u8, bytes: u64, now: Time) -> Hold {
        let (from, to) = (self.sites[from as usize].node, self.sites[to as usize].node);
        let route = self.machine.held_links().map(|links| links.route(from as usize, to as usize)).unwrap_or_default();
        match route.get(usize::from(hops)) {
            Some(link) => {
                let free = &mut self.links[link.index];
                let begin = now.max(*free);
                *free = begin + ticks(bytes as f64 * link.byte);
                Hold::From(begin)
            }
            None => {
                let line = self.machine.paths[Distance::Network as usize].line(bytes, self.machine.eager_limit);
                let slowest = route.iter().map(|link| link.byte).fold(line.byte, f64::max);
                Hold::Left(now + ticks(bytes as f64 * slowest))
            }
        }
    }

    /// Returns the arrival time of a control message sent at `now`. A control message passes no port.
    #[inline]
    pub(super) fn control(&mut self, way: Distance, now: Time) -> Time {
        let latency = self.machine.paths[way as usize].short.latency;
        now + self.noisy(latency, self.machine.noise.latency)
    }

    /// Passes a message that is at the port of the node of rank `to` at `now` into the node. Returns the time when it
    /// is inside.
    #[inline]
    pub(super) fn eject(&mut self, to: u32, bytes: u64, now: Time) -> Time {
        let body = ticks(bytes as f64 * self.machine.node.eject_byte);
        let port = &mut self.ports[self.sites[to as usize].node as usize].eject;
        let begin = now.saturating_sub(body).max(*port);
        *port = begin + ticks(self.machine.node.eject) + body;
        begin + body
    }

    /// Returns the time of a processor's work in picoseconds, with noise.
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
