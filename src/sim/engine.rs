//! The event loop.
//!
//! A rank's processor does one thing at a time: what its program asks for first, arrivals when the program only waits.
//! Whatever is thereby determined is computed at once, with the rank's own clock ahead of the event's; only what other
//! ranks can see (a message at a node's port) happens in the order of time.

use super::Time;
use super::host::{Host, NONE};
use super::machine::Machine;
use super::matching::{Search, key};
use super::message::{Id, Kind, Message, NONE as NO_MESSAGE, Slab};
use super::network::{Network, Place, Way};
use super::outcome::Outcome;
use super::phases::Phases;
use super::program::{Handle, Program, Work};
use super::storage::Servers;
use super::wheel::Wheel;
use super::workload::Workload;
use crate::error::{Error, Result};
use crate::schedule::SendMode;
use crate::topology::{Rank, Topology};

/// Events between two calls of a watcher.
const WATCH: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// The processor of a rank is free for a send.
    Wake(u32),
    /// A message is at the door of its node.
    Arrive(Id),
    /// It is with its rank.
    Deliver(Id),
    /// The bytes of a rendezvous leave.
    Leave(Id),
    /// What a rank's worker was writing is in the file.
    Written(u32),
}

/// Runs `workload` on `machine`. The same arguments give the same outcome. `watch` is told the number of messages
/// matched so far, every million events.
///
/// O(1) amortised for each event, two (eager) to five (rendezvous) of them a message; under 200 bytes a rank, some 100 a
/// message under way, and the schedules that are being run.
///
/// # Errors
/// Schedules that wait for ever.
pub fn run<W: Workload>(
    machine: &Machine,
    topology: &Topology,
    workload: &W,
    seed: u64,
    mut watch: impl FnMut(u64),
) -> Result<Outcome> {
    let mut engine = Engine::new(machine, topology, workload, seed);
    for rank in 0..engine.hosts.len() {
        engine.next_part(rank);
        engine.advance(rank, 0);
    }
    let mut events = 0;
    while let Some((now, what)) = engine.wheel.pop() {
        engine.event(now, what);
        events += 1;
        if u64::is_multiple_of(events, WATCH) {
            watch(engine.count);
        }
    }
    if let Some(rank) = engine.hosts.iter().position(|host| !matches!(host.program, Program::Over)) {
        return Err(Error::argument("schedules", format!("rank {rank} waits for ever"), "schedules that end"));
    }
    let phases = engine.phases;
    Ok(Outcome { phases, ..Outcome::of(&engine.hosts, engine.count, events, engine.slab.peak()) })
}

pub(super) struct Engine<'a, W> {
    pub(super) machine: &'a Machine,
    workload: &'a W,
    pub(super) hosts: Vec<Host>,
    pub(super) places: Vec<Place>,
    pub(super) network: Network<'a>,
    pub(super) wheel: Wheel<What>,
    pub(super) slab: Slab,
    pub(super) servers: Servers,
    pub(super) phases: Phases,
    /// Messages that have met their receives.
    pub(super) count: u64,
}

impl<'a, W: Workload> Engine<'a, W> {
    fn new(machine: &'a Machine, topology: &Topology, workload: &'a W, seed: u64) -> Self {
        let hosts = (0..topology.ranks()).map(|_| Host::new()).collect();
        let places = Place::all(topology, machine.sockets);
        let network = Network::new(machine, topology.nodes(), seed);
        let (wheel, slab) = (Wheel::new(), Slab::default());
        let (servers, phases) = (Servers::new(machine.storage), Phases::default());
        Self { machine, workload, hosts, places, network, wheel, slab, servers, phases, count: 0 }
    }

    fn event(&mut self, now: Time, what: What) {
        match what {
            What::Wake(rank) => self.advance(rank as Rank, now),
            What::Deliver(id) => self.deliver(id, now),
            What::Leave(id) => self.leave(id, now),
            What::Written(rank) => self.written(rank, now),
            What::Arrive(id) => {
                let message = *self.slab.get(id);
                let ready = match self.way(&message) {
                    Way::Network => {
                        let node = self.places[message.to as usize].node;
                        self.network.eject(node, self.wire_bytes(&message), now)
                    }
                    Way::Socket | Way::Node => now,
                };
                match ready > now {
                    true => self.wheel.push(ready, What::Deliver(id)),
                    false => self.deliver(id, now),
                }
            }
        }
    }

    /// Hands a message to its rank, which takes it in unless it is posting.
    fn deliver(&mut self, id: Id, now: Time) {
        let rank = self.slab.get(id).to as Rank;
        let host = &mut self.hosts[rank];
        if host.pending != NONE {
            return host.backlog.push(&mut self.slab, id);
        }
        host.cpu = host.cpu.max(now);
        self.take_in(rank, id);
        self.advance(rank, now);
    }

    /// Goes on with a rank's program, then with what has arrived, as far as both are determined at `now`.
    pub(super) fn advance(&mut self, rank: Rank, now: Time) {
        loop {
            let host = &mut self.hosts[rank];
            host.cpu = host.cpu.max(now);
            let pending = std::mem::replace(&mut host.pending, NONE);
            let next = if pending == NONE { host.program.next() } else { Some(pending) };
            if let Some(handle) = next {
                if !self.start(rank, handle, now) {
                    return;
                }
            } else if host.program.is_done() {
                host.part += 1;
                self.next_part(rank);
            } else if let Some(id) = host.backlog.pop(&self.slab) {
                self.take_in(rank, id);
            } else {
                return;
            }
        }
    }

    fn next_part(&mut self, rank: Rank) {
        let host = &mut self.hosts[rank];
        if let Some(phase) = host.part.checked_sub(1).and_then(|part| self.workload.phase(part)) {
            self.phases.count(rank, phase, host.cpu);
        }
        match self.workload.part(rank, host.part) {
            Some(part) => host.program = Program::of(part, host.cpu, host.spent.posting()),
            None => {
                host.program = Program::Over;
                host.spent.total = host.cpu;
            }
        }
    }

    /// Starts an operation; whether the rank can go on at once.
    fn start(&mut self, rank: Rank, handle: Handle, now: Time) -> bool {
        let host = &mut self.hosts[rank];
        match host.program.work(self.workload, rank, host.part, handle) {
            Work::Memory { bytes } => {
                host.cpu += self.network.work(bytes as f64 * self.machine.host.copy_byte);
                host.finish(handle);
                true
            }
            Work::Receive { from, stage } => {
                self.post_receive(rank, handle, key(from as u32, stage));
                true
            }
            Work::Send { .. } if host.cpu > now => {
                self.postpone(rank, handle);
                false
            }
            Work::Step => self.take_step(rank, handle, now),
            Work::Send { to, mode, bytes, stage } => {
                let synchronous = mode == SendMode::Synchronous;
                let kind = if bytes > self.machine.eager_limit { Kind::RequestToSend } else { Kind::Eager };
                let connects = host.connects;
                let (from, to, send) = (rank as u32, to as u32, handle);
                let (receive, next) = (NONE, NO_MESSAGE);
                self.post_send(Message { bytes, from, to, send, receive, next, stage, kind, synchronous, connects })
            }
        }
    }

    /// Leaves a send for when the processor is free.
    pub(super) fn postpone(&mut self, rank: Rank, handle: Handle) {
        let host = &mut self.hosts[rank];
        host.pending = handle;
        self.wheel.push(host.cpu, What::Wake(rank as u32));
    }

    fn post_receive(&mut self, rank: Rank, handle: Handle, key: u64) {
        let host = &mut self.hosts[rank];
        let costs = &self.machine.host;
        let mut cost = costs.post_receive + if host.request() { costs.first_use } else { 0.0 };
        let queues = host.queues.get_or_insert_default();
        let tau = costs.walk.entry(queues.unexpected.len());
        let Search { found, walked } = queues.unexpected.take(key);
        queues.walked += walked as u64;
        cost += tau * walked as f64;
        if found.is_none() {
            queues.posted.push(key, handle);
            queues.longest_posted = queues.longest_posted.max(queues.posted.len());
        }
        let time = self.network.work(cost);
        host.cpu += time;
        host.spent.post_receives += time;
        if let Some(id) = found {
            let host = &mut self.hosts[rank];
            let message = self.slab.get(id);
            if message.kind == Kind::Eager {
                host.cpu += self.network.work(message.bytes as f64 * costs.copy_byte);
            }
            self.matched(rank, id, handle);
        }
    }

    /// Posts a send; whether it was: the first message to a rank makes a connection before.
    fn post_send(&mut self, message: Message) -> bool {
        let rank = message.from as Rank;
        let costs = &self.machine.host;
        let way = self.way(&message);
        if let Some(connection) = self.machine.connection
            && way == Way::Network
            && !message.connects
            && self.connect(message.from, message.to)
        {
            let time = self.network.work(connection.send);
            let host = &mut self.hosts[rank];
            host.cpu += time;
            host.spent.post_sends += time;
            host.connects = true;
            self.postpone(rank, message.send);
            return false;
        }
        let node = self.places[rank].node;
        let host = &mut self.hosts[rank];
        host.connects = false;
        let bytes = if message.kind == Kind::Eager { message.bytes } else { 0 };
        let first_use = if host.request() { costs.first_use } else { 0.0 };
        let time = self.network.work(costs.send + bytes as f64 * costs.send_byte + first_use);
        host.cpu += time;
        host.spent.post_sends += time;
        let arrival = self.network.transmit(host, node, way, bytes, host.cpu);
        if message.kind == Kind::Eager && !message.synchronous && !message.connects {
            host.outstanding -= 1;
            host.finish(message.send);
        }
        let id = self.slab.add(message);
        self.wheel.push(arrival, What::Arrive(id));
        true
    }

    fn connect(&mut self, from: u32, to: u32) -> bool {
        let ranks = self.hosts.len();
        self.hosts[to as usize].queues.get_or_insert_default().connect(from as usize, ranks)
    }

    #[inline]
    pub(super) fn way(&self, message: &Message) -> Way {
        Way::between(self.places[message.from as usize], self.places[message.to as usize])
    }

    /// Bytes of this leg that pass the ports.
    fn wire_bytes(&self, message: &Message) -> u64 {
        match message.kind {
            Kind::Eager | Kind::Data => message.bytes,
            _ => 0,
        }
    }
}
