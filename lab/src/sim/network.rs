//! Simulated network between ranks: paths, and the ports that ranks of a node share.

use std::collections::VecDeque;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::Time;
use super::links::Links;
use super::machine::{Machine, Node};
use super::message::Message;
use super::program::Handle;
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
pub(super) struct RankSite {
    node: u32,
    socket: u8,
    /// Time at which the rank's port is free.
    port: Time,
    /// Arrival times of the rank's last message to its own node, and to another node. Messages of a rank do not
    /// overtake each other.
    last: [Time; 2],
}

impl RankSite {
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

#[derive(Debug, Clone, Default)]
struct Ports {
    inject: Time,
    eject: Time,
    /// Messages that leave the node in segments, by sender and receiver; the first is the next to send.
    flows: VecDeque<MessageFlow>,
    /// True if a segment is leaving the node.
    is_sending: bool,
}

/// Messages from one rank to another that leave a node in segments, one after the other.
#[derive(Debug, Clone)]
struct MessageFlow {
    from: u32,
    to: u32,
    messages: VecDeque<LeavingMessage>,
    /// Number of bytes that may leave before other flows have their turn.
    turn: u64,
}

/// Message that leaves a node in segments.
#[derive(Debug, Clone, Copy)]
struct LeavingMessage {
    message: Message,
    /// Number of bytes that have not left.
    rest: u64,
    /// Send that is finished when the message has left, if it is not finished yet.
    send: Option<Handle>,
}

/// Segment of a message that leaves a node.
#[derive(Debug)]
pub(super) struct Segment {
    /// Time when the port of the node is free again.
    pub(super) sent: Time,
    /// Time when the segment is in the node of its receiver.
    pub(super) arrival: Time,
    /// Message that ends with this segment, and its send.
    pub(super) last: Option<(Message, Option<Handle>)>,
}

/// Ports of all ranks and nodes, links, and noise.
#[derive(Debug)]
pub(super) struct Network<'a> {
    machine: &'a Machine,
    sites: Vec<RankSite>,
    ports: Vec<Ports>,
    /// For each link: the time when it is free, if messages occupy links.
    links: Vec<Time>,
    /// For each processor that ranks share: the time when it is free. Empty if every rank has its own.
    processors: Vec<Time>,
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
        let sites = RankSite::all(topology, machine.sockets);
        let ports = vec![Ports::default(); topology.nodes()];
        let links = machine.held_links().and_then(Links::count).unwrap_or(0);
        let processors = vec![0; machine.processors.map_or(0, |shared| shared.min(topology.ranks()))];
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { machine, sites, ports, links: vec![0; links], processors, random }
    }

    /// Reads the site of a rank, so that a cache has it.
    #[inline]
    pub(super) fn touch(&self, rank: u32) {
        std::hint::black_box(self.sites[rank as usize].port);
    }

    /// Returns the node of a rank.
    #[inline]
    pub(super) fn node_of(&self, rank: u32) -> usize {
        self.sites[rank as usize].node as usize
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

    /// Adds a message to those that leave its node in segments. Returns true if the port of the node is free.
    pub(super) fn queue(&mut self, message: Message, send: Option<Handle>) -> bool {
        let Message { from, to, .. } = message;
        let leaving = LeavingMessage { message, rest: message.wire_bytes(), send };
        let ports = &mut self.ports[self.sites[from as usize].node as usize];
        match ports.flows.iter_mut().find(|flow| (flow.from, flow.to) == (from, to)) {
            Some(flow) => flow.messages.push_back(leaving),
            None => {
                let turn = self.machine.node.segment as u64;
                ports.flows.push_back(MessageFlow { from, to, messages: [leaving].into(), turn });
            }
        }
        !std::mem::replace(&mut ports.is_sending, true)
    }

    /// Sends the next segment from the port of a node, which is free at `now`: flows take turns of `node.segment` bytes,
    /// as connections of TCP do that share a link. `None` if no message waits; the port is idle then.
    pub(super) fn segment(&mut self, node: usize, now: Time) -> Option<Segment> {
        let Node { inject, inject_byte, eject, eject_byte, segment } = self.machine.node;
        let ports = &mut self.ports[node];
        let Some(mut flow) = ports.flows.pop_front() else {
            ports.is_sending = false;
            return None;
        };
        let leaving = flow.messages.front_mut()?;
        let is_first = leaving.rest == leaving.message.wire_bytes();
        let bytes = leaving.rest.min(flow.turn);
        leaving.rest -= bytes;
        flow.turn -= bytes;
        let (message, send, is_last) = (leaving.message, leaving.send, leaving.rest == 0);
        if is_last {
            flow.messages.pop_front();
        }
        match flow.turn {
            _ if flow.messages.is_empty() => {}
            0 => ports.flows.push_back(MessageFlow { turn: segment as u64, ..flow }),
            _ => ports.flows.push_front(flow),
        }
        let once = |cost: f64| if is_first { cost } else { 0.0 };
        let sent = now + ticks(once(inject) + bytes as f64 * inject_byte);
        let line = self.machine.paths[Distance::Network as usize].line(message.wire_bytes(), self.machine.eager_limit);
        let travels = self.noisy(line.latency, self.machine.noise.latency);
        let body = ticks(bytes as f64 * eject_byte);
        let port = &mut self.ports[self.sites[message.to as usize].node as usize].eject;
        *port = (sent + travels).saturating_sub(body).max(*port) + body + ticks(once(eject));
        let arrival = (*port).max(sent + travels);
        Some(Segment { sent, arrival, last: is_last.then_some((message, send)) })
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

    /// Does work of `cost` picoseconds, with noise, that can begin at `from`. Returns the time when it is done. If ranks
    /// share processors, the work takes the one that has become free last before `from`, so that others stay free for ranks whose time is
    /// not so far; if none is free, it waits for the one that is free first.
    #[inline]
    pub(super) fn work_from(&mut self, from: Time, cost: f64) -> Time {
        let time = self.noisy(cost, self.machine.noise.host);
        let best = (0..self.processors.len()).min_by_key(|&at| match self.processors[at] {
            free if free <= from => (false, from - free),
            free => (true, free),
        });
        let Some(best) = best else { return from + time };
        let free = &mut self.processors[best];
        *free = from.max(*free) + time;
        *free
    }

    #[inline]
    fn noisy(&mut self, cost: f64, sigma: f64) -> Time {
        if sigma == 0.0 { ticks(cost) } else { self.drawn(cost, sigma) }
    }

    #[inline(never)]
    fn drawn(&mut self, cost: f64, sigma: f64) -> Time {
        let normal: f64 = StandardNormal.sample(&mut self.random);
        ticks((cost * (1.0 + sigma * normal)).max(0.0))
    }
}
