//! The event loop.
//!
//! A rank's processor does one thing at a time: what its program asks for first, arrivals when the program only waits.
//! Whatever is thereby determined is computed at once, with the rank's own clock ahead of the event's; only what other
//! ranks can see (a message at a port) happens in the order of time. What arrives at a rank that is far ahead waits, and
//! is served in one go when the time has come.

use super::Time;
use super::host::{Host, NONE};
use super::machine::Machine;
use super::matching::{Key, Search};
use super::message::{Kind, Leg, Marks, Message};
use super::network::{Network, Way, ticks};
use super::outcome::Outcome;
use super::phases::Phases;
use super::program::{Handle, Program, Work};
use super::storage::Servers;
use super::wheel::Wheel;
use super::workload::Workload;
use tributary::error::{Error, Result};
use tributary::schedule::SendMode;
use tributary::topology::{Rank, Topology};

/// Events between two calls of a watcher.
const WATCH: u64 = 1 << 20;
/// A rank posts at most so many sends ahead of time: they take memory.
const AHEAD: u32 = 8;
/// A rank that is busy for longer than so many messages take lets others wait.
const PATIENCE: f64 = 16.0;

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// The processor of a rank is free for what has waited.
    Wake(u32),
    /// A rank may go on, because sends are finished.
    Settle(u32),
    /// A message is somewhere.
    Message(Message),
    /// What a rank's worker was writing is in the file.
    Written(u32),
}

/// Runs `workload` on `machine`. The same arguments give the same outcome. `watch` is told the number of messages
/// matched so far, every million events.
///
/// O(1) amortised for whatever happens to a message, four (eager) to seven (rendezvous) things; under 200 bytes a rank,
/// some 100 a message under way, and the schedules that are being run.
///
/// # Errors
/// Schedules that wait for ever; more nodes than the links that are held connect.
pub fn run<W: Workload>(
    machine: &Machine,
    topology: &Topology,
    workload: &W,
    seed: u64,
    mut watch: impl FnMut(u64),
) -> Result<Outcome> {
    if let Some(links) = machine.held_links() {
        let places = links.count().map_or(0, |_| links.nodes());
        if places < topology.nodes() {
            return Err(Error::argument("nodes", topology.nodes(), format!("1 to {places}, the links' places")));
        }
    }
    let mut engine = Engine::new(machine, topology, workload, seed);
    for rank in 0..engine.hosts.len() {
        engine.next_part(rank);
        engine.advance(rank, 0);
    }
    let mut served = 0;
    while let Some((now, what)) = engine.wheel.pop() {
        engine.event(now, what);
        served += 1;
        if u64::is_multiple_of(served, WATCH) {
            watch(engine.count.matched);
        }
    }
    if let Some(rank) = engine.hosts.iter().position(|host| !matches!(host.program, Program::Over)) {
        return Err(Error::argument("schedules", format!("rank {rank} waits for ever"), "schedules that end"));
    }
    let phases = engine.phases;
    Ok(Outcome { phases, ..Outcome::of(&engine.hosts, &engine.count) })
}

/// What is counted of messages.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// Those that have met their receives.
    pub(super) matched: u64,
    /// Whatever happened to one: posted at a port, at a door, taken in, its send finished.
    pub(super) events: u64,
    /// Those that are under way or wait.
    pub(super) present: usize,
    /// The most there were.
    pub(super) peak: usize,
}

pub(super) struct Engine<'a, W> {
    pub(super) machine: &'a Machine,
    pub(super) workload: &'a W,
    pub(super) hosts: Vec<Host>,
    pub(super) network: Network<'a>,
    pub(super) wheel: Wheel<What>,
    pub(super) servers: Servers,
    pub(super) phases: Phases,
    pub(super) count: Count,
    /// Of the present event: whose sends are finished, and when.
    pub(super) receipts: Vec<(u32, Time, Handle)>,
    /// Who is busy for longer than this lets others wait.
    pub(super) patience: Time,
}

impl<'a, W: Workload> Engine<'a, W> {
    fn new(machine: &'a Machine, topology: &Topology, workload: &'a W, seed: u64) -> Self {
        Self {
            machine,
            workload,
            hosts: (0..topology.ranks()).map(|_| Host::new()).collect(),
            network: Network::new(machine, topology, seed),
            wheel: Wheel::new(),
            servers: Servers::new(machine.storage),
            phases: Phases::default(),
            count: Count::default(),
            receipts: Vec::new(),
            patience: ticks(PATIENCE * machine.host.receive),
        }
    }

    #[inline]
    fn event(&mut self, now: Time, what: What) {
        match what {
            What::Wake(rank) => {
                self.hosts[rank as usize].wakes = false;
                self.advance(rank as Rank, now);
            }
            What::Written(rank) => self.written(rank, now),
            What::Settle(rank) => self.settle(rank as Rank, now),
            What::Message(message) => match message.leg {
                Leg::Posted => self.depart(message, now),
                Leg::Links => self.pass(message, now),
                Leg::Door => self.enter(message, now),
                Leg::Inside => self.deliver(message, now),
            },
        }
        if !self.receipts.is_empty() {
            self.hand_out();
        }
    }

    /// Goes on with a rank's program, then with what has arrived, as far as both are determined at `now`.
    pub(super) fn advance(&mut self, rank: Rank, now: Time) {
        let mut ahead = AHEAD;
        loop {
            let host = &mut self.hosts[rank];
            let pending = std::mem::replace(&mut host.pending, NONE);
            let next = if pending == NONE { host.program.next() } else { Some(pending) };
            if let Some(handle) = next {
                if !self.start(rank, handle, &mut ahead, now) {
                    return;
                }
            } else if host.program.is_done() {
                host.part += 1;
                self.next_part(rank);
            } else if !self.take_next(rank, now) {
                return self.call(rank);
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

    /// Starts an operation, unless it is a send and the rank has as many outstanding as it may. Returns whether it started.
    #[inline]
    fn start(&mut self, rank: Rank, handle: Handle, ahead: &mut u32, now: Time) -> bool {
        let host = &mut self.hosts[rank];
        match host.program.work(self.workload, rank, host.part, handle) {
            Work::Memory { bytes } => {
                host.cpu += self.network.work(bytes as f64 * self.machine.host.copy_byte);
                host.finish(handle);
            }
            Work::Receive { from, stage } => self.post_receive(rank, handle, Key { from: from as u32, stage }),
            Work::Send { .. } if *ahead == 0 => {
                host.pending = handle;
                self.wake(rank);
                return false;
            }
            Work::Step => return self.take_step(rank, handle, now),
            Work::Send { to, mode, bytes, stage } => {
                *ahead -= 1;
                let kind = if bytes > self.machine.eager_limit { Kind::RequestToSend } else { Kind::Eager };
                let marks = Marks::NONE.with(Marks::SYNCHRONOUS, mode == SendMode::Synchronous);
                let (from, to) = (rank as u32, to as u32);
                self.post_send(Message { load: bytes, from, to, handle, stage, kind, leg: Leg::Posted, marks });
            }
        }
        true
    }

    /// Lets everything wait until the processor is free.
    pub(super) fn wake(&mut self, rank: Rank) {
        let host = &mut self.hosts[rank];
        host.wakes = true;
        self.wheel.push(host.cpu, What::Wake(rank as u32));
    }

    fn post_receive(&mut self, rank: Rank, handle: Handle, key: Key) {
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
        if let Some(message) = found {
            if message.kind == Kind::Eager {
                host.cpu += self.network.work(message.load as f64 * costs.copy_byte);
            }
            self.matched(rank, message, handle);
        }
    }

    /// Posts a send; the first message to a rank makes a connection before.
    fn post_send(&mut self, mut message: Message) {
        let rank = message.from as Rank;
        let costs = &self.machine.host;
        let mut time = 0;
        let outside = self.network.way(message.from, message.to) == Way::Network;
        message.marks = message.marks.with(Marks::OUTSIDE, outside);
        if let (true, Some(connection)) = (outside, &self.machine.connection)
            && self.connect(message.from, message.to)
        {
            time += self.network.work(connection.send);
            message.marks = message.marks.with(Marks::CONNECTS, true);
        }
        let host = &mut self.hosts[rank];
        let first_use = if host.request() { costs.first_use } else { 0.0 };
        let copied = if message.kind == Kind::Eager { message.load as f64 * costs.send_byte } else { 0.0 };
        time += self.network.work(costs.send + copied + first_use);
        host.cpu += time;
        host.spent.post_sends += time;
        self.wheel.push(host.cpu, What::Message(message));
        let later = message.marks.has(Marks::SYNCHRONOUS) || message.marks.has(Marks::CONNECTS);
        if message.kind == Kind::Eager && !later {
            host.outstanding -= 1;
            host.finish(message.handle);
        }
        self.count.present += 1;
        self.count.peak = self.count.peak.max(self.count.present);
    }

    fn connect(&mut self, from: u32, to: u32) -> bool {
        let ranks = self.hosts.len();
        self.hosts[to as usize].queues.get_or_insert_default().connect(from as usize, ranks)
    }
}
