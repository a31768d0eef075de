//! Event loop of the simulator.
//!
//! A rank's processor does one thing at a time: its program first, and arrivals while the program waits. What is
//! determined by this is computed at once, with the rank's own clock ahead of the event's. Only events that other ranks
//! can see (a message at a port) are processed in the order of time. Arrivals at a rank whose clock is far ahead wait,
//! and are processed together when their time has come.

use super::Time;
use super::host::{NONE, RankState};
use super::machine::Machine;
use super::matching::{MatchKey, Search};
use super::message::{Kind, Leg, Marks, Message};
use super::network::{Distance, Network, ticks};
use super::outcome::SimOutcome;
use super::phases::Phases;
use super::program::{Handle, RankProgram, Work};
use super::storage::Servers;
use super::wheel::Wheel;
use super::workload::Workload;
use tributary::error::{Error, Result};
use tributary::schedule::SendMode;
use tributary::topology::{Rank, Topology};

/// Number of events between two calls of the watcher.
const WATCH: u64 = 1 << 20;
/// Maximum number of sends that a rank posts ahead of time, because they take memory.
const AHEAD: u32 = 8;
/// Limit on the time by which a rank may be ahead, in times of a message. Arrivals at a rank that is busy for longer
/// wait.
const PATIENCE: f64 = 16.0;

/// Simulates `workload` on `machine`. The same arguments give the same outcome. Every million events, calls `watch`
/// with the number of messages matched so far.
///
/// Cost: O(1) amortised per event, with four (eager) to seven (rendezvous) events per message. Memory: under 200 bytes
/// per rank, about 100 per message in flight, and the current schedules.
///
/// # Errors
/// The schedules wait for ever; more nodes than the simulated links connect.
pub fn run<W: Workload>(
    machine: &Machine,
    topology: &Topology,
    workload: &W,
    seed: u64,
    mut watch: impl FnMut(u64),
) -> Result<SimOutcome> {
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
    while let Some((now, message)) = engine.next() {
        engine.event(now, message);
        served += 1;
        if u64::is_multiple_of(served, WATCH) {
            watch(engine.count.matched);
        }
    }
    if let Some(rank) = engine.hosts.iter().position(|host| !matches!(host.program, RankProgram::Over)) {
        return Err(Error::argument("schedules", format!("rank {rank} waits for ever"), "schedules that end"));
    }
    let phases = engine.phases;
    Ok(SimOutcome { phases, ..SimOutcome::of(&engine.hosts, &engine.count) })
}

/// Counts of messages and events in a simulation.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// Number of messages matched with their receives.
    pub(super) matched: u64,
    /// Number of events of messages.
    pub(super) events: u64,
    /// Number of bytes of messages between nodes.
    pub(super) outside: u64,
    /// Number of messages under way or waiting.
    pub(super) present: usize,
    /// Largest value of `present` so far.
    pub(super) peak: usize,
}

pub(super) struct Engine<'a, W> {
    pub(super) machine: &'a Machine,
    pub(super) workload: &'a W,
    pub(super) hosts: Vec<RankState>,
    pub(super) network: Network<'a>,
    pub(super) wheel: Wheel<Message>,
    pub(super) servers: Servers,
    pub(super) phases: Phases,
    pub(super) count: Count,
    /// Sends that the current event has finished, with the times of completion.
    pub(super) receipts: Vec<(u32, Time, Handle)>,
    /// Time in picoseconds: arrivals at a rank that is busy for longer wait.
    pub(super) patience: Time,
    /// True if ranks run elsewhere and post their operations.
    pub(super) is_posted: bool,
}

impl<'a, W: Workload> Engine<'a, W> {
    pub(super) fn new(machine: &'a Machine, topology: &Topology, workload: &'a W, seed: u64) -> Self {
        Self {
            machine,
            workload,
            hosts: (0..topology.ranks()).map(|_| RankState::new()).collect(),
            network: Network::new(machine, topology, seed),
            wheel: Wheel::new(),
            servers: Servers::new(machine.storage, topology.nodes()),
            phases: Phases::default(),
            count: Count::default(),
            receipts: Vec::new(),
            patience: ticks(PATIENCE * machine.host.receive),
            is_posted: false,
        }
    }

    /// Removes and returns the next event. Reads what the events after it need: their ranks are far apart in memory, so
    /// the cache misses overlap here and would not later.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Time, Message)> {
        let Self { wheel, hosts, network, .. } = self;
        wheel.pop(|message| match message.leg {
            Leg::POSTED => network.touch(message.from),
            Leg::SENT => {}
            _ => hosts[message.to as usize].touch(),
        })
    }

    #[inline]
    pub(super) fn event(&mut self, now: Time, message: Message) {
        match message.leg {
            Leg::POSTED => self.depart(message, now),
            Leg::LINKS => self.pass(message, now),
            Leg::DOOR => self.enter(message, now),
            Leg::SETTLE => self.settle(message.to as Rank, now),
            Leg::WAKE => {
                self.hosts[message.to as usize].wakes = false;
                self.advance(message.to as Rank, now);
            }
            Leg::WRITTEN => self.written(message.to, now),
            Leg::SENT => self.send_segment(message.to as usize, now),
            _ => self.deliver(message, now),
        }
        self.settle_receipts();
    }

    /// Delivers the completions of sends that were found out about.
    #[inline]
    pub(super) fn settle_receipts(&mut self) {
        if !self.receipts.is_empty() {
            self.hand_out();
        }
    }

    /// Advances a rank's program, then processes arrivals, as far as both are determined at `now`.
    pub(super) fn advance(&mut self, rank: Rank, now: Time) {
        let mut ahead = if self.is_posted { u32::MAX } else { AHEAD };
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
            Some(part) => host.program = RankProgram::of(part, host.cpu, host.spent.posting()),
            None => {
                host.program = RankProgram::Over;
                host.spent.total = host.cpu;
            }
        }
    }

    /// Starts an operation, unless it is a send and the rank has as many outstanding as allowed. Returns true if the
    /// operation started.
    #[inline]
    fn start(&mut self, rank: Rank, handle: Handle, ahead: &mut u32, now: Time) -> bool {
        let host = &mut self.hosts[rank];
        match host.program.work(self.workload, rank, host.part, handle) {
            Work::Memory { bytes } => {
                let costs = &self.machine.host;
                let once = if bytes > 0 { costs.copy } else { 0.0 };
                host.cpu = self.network.work_from(host.cpu, once + bytes as f64 * costs.copy_byte);
                host.finish(handle);
            }
            Work::Receive { from, stage } => self.post_receive(rank, handle, MatchKey { from: from as u32, stage }),
            Work::Send { .. } if *ahead == 0 => {
                host.pending = handle;
                self.wake(rank);
                return false;
            }
            Work::Step => return self.take_step(rank, handle, now),
            Work::Send { to, mode, bytes, stage } => {
                *ahead -= 1;
                let kind = if bytes > self.machine.eager_limit { Kind::REQUEST_TO_SEND } else { Kind::EAGER };
                let marks = Marks::NONE.with(Marks::SYNCHRONOUS, mode == SendMode::Synchronous);
                let (from, to) = (rank as u32, to as u32);
                // (The stage of a posted operation is found by its handle.)
                let stage = stage as u8;
                self.post_send(Message { load: bytes, from, to, handle, stage, kind, leg: Leg::POSTED, marks });
            }
        }
        true
    }

    /// Schedules an event for the time when the rank's processor is free.
    pub(super) fn wake(&mut self, rank: Rank) {
        let host = &mut self.hosts[rank];
        host.wakes = true;
        self.wheel.push(host.cpu, Message::signal(Leg::WAKE, rank as u32));
    }

    fn post_receive(&mut self, rank: Rank, handle: Handle, key: MatchKey) {
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
        let done = self.network.work_from(host.cpu, cost);
        host.spent.post_receives += done - host.cpu;
        host.cpu = done;
        if let Some(message) = found {
            if message.kind == Kind::EAGER {
                host.cpu = self.network.work_from(host.cpu, message.load as f64 * costs.copy_byte);
            }
            self.matched(rank, message, handle);
        }
    }

    /// Posts a send. The first message to a rank makes a connection first.
    fn post_send(&mut self, mut message: Message) {
        let rank = message.from as Rank;
        let costs = &self.machine.host;
        let mut done = self.hosts[rank].cpu;
        let outside = self.network.way(message.from, message.to) == Distance::Network;
        message.marks = message.marks.with(Marks::OUTSIDE, outside);
        self.count.outside += if outside { message.load } else { 0 };
        if let (true, Some(connection)) = (outside, &self.machine.connection)
            && self.connect(message.from, message.to)
        {
            done = self.network.work_from(done, connection.send);
            message.marks = message.marks.with(Marks::CONNECTS, true);
        }
        let host = &mut self.hosts[rank];
        let first_use = if host.request() { costs.first_use } else { 0.0 };
        let copied = if message.kind == Kind::EAGER { message.load as f64 * costs.send_byte } else { 0.0 };
        done = self.network.work_from(done, costs.send + copied + first_use);
        host.spent.post_sends += done - host.cpu;
        host.cpu = done;
        self.wheel.push(host.cpu, message);
        let later = message.marks.has(Marks::SYNCHRONOUS) || message.marks.has(Marks::CONNECTS);
        if message.kind == Kind::EAGER && !later {
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
