//! The paper's pairwise exchange, in which every rank calls MPI_Sendrecv with every other rank, even for empty messages
//! ([`super::CollectiveWriteOptions::empty_steps`]): p (p - 1) messages per round. They are not simulated one by one. A
//! step costs the same few terms on every rank, so it is computed by one pass over the ranks' clocks.
//!
//! In step i a rank posts a receive from rank + i and a send to rank - i. It ends when both are done:
//!
//! ```text
//! posted(r) = t(r) + post_receive + send + bytes send_byte
//! t'(r)     = max(posted(r), posted(s) + latency + bytes beta) + receive + bytes receive_byte,   s = r + i
//! ```
//!
//! Above the eager limit the bytes wait for a request and its answer, as in the simulator. Unlike the simulator, this
//! leaves out node ports, queue searches (queues have one entry), and early messages that a rank takes in while it
//! waits for another. O(p) time per step, vectorised for empty messages.

use super::collective_write::{CollectiveWrite, DATA, FILE, METADATA, ONCE, PLACING, WriteStage, list_messages};
use super::exchange_messages::{Parties, PhaseKernel};
use super::matrix::AmountMatrix;
use super::message_counts::MetadataForm;
use super::written::Written;
use crate::sim::machine::CostLine;
use crate::sim::phases::PHASES;
use crate::sim::{Machine, Step, Time};
use tributary::access::Extent;
use tributary::exchange::PAIRWISE;
use tributary::topology::Rank;

/// Simulated clocks of all ranks, in picoseconds.
#[derive(Debug)]
pub(super) struct Clocks<'a> {
    machine: &'a Machine,
    parties: &'a Parties,
    /// Numbers of the node and of the socket of every rank.
    places: Vec<(usize, usize)>,
    /// Upper bound of the difference between numbers of ranks on one node.
    reach: usize,
    now: Vec<f64>,
    /// Time that every rank spent in each phase, in whole picoseconds.
    spent: Vec<[Time; PHASES]>,
    posted: Vec<f64>,
    /// True if all pairs of ranks have connections already.
    connected: bool,
}

/// Nonempty message of the current step.
#[derive(Debug, Clone, Copy)]
struct Load {
    from: Rank,
    to: Rank,
    bytes: u64,
}

impl<'a> Clocks<'a> {
    pub(super) fn new(machine: &'a Machine, parties: &'a Parties) -> Self {
        let topology = &parties.topology;
        let (mut places, mut reach) = (vec![(0, 0); topology.ranks()], 0);
        for node in 0..topology.nodes() {
            let ranks = topology.ranks_on(node);
            reach = reach.max(topology.rank_at(node, ranks - 1) + 1 - topology.rank_at(node, 0));
            for index in 0..ranks {
                places[topology.rank_at(node, index)] = (node, index * machine.sockets / ranks);
            }
        }
        let (now, posted) = (vec![0.0; places.len()], vec![0.0; places.len()]);
        let spent = vec![[0; PHASES]; places.len()];
        Self { machine, parties, places, reach, now, spent, posted, connected: machine.connection.is_none() }
    }

    /// Returns the time of every rank by phase, in picoseconds.
    pub(super) fn spent(&self) -> impl Iterator<Item = &[Time; PHASES]> {
        self.spent.iter()
    }

    /// Adds to every rank's clock a time in `phase` that `cost` returns for the rank, in picoseconds.
    pub(super) fn charge(&mut self, phase: usize, cost: impl Fn(Rank) -> f64) {
        self.count(phase, |clocks| clocks.now.iter_mut().enumerate().for_each(|(rank, now)| *now += cost(rank)));
    }

    /// Makes all ranks wait for the last, and counts the waiting time in `phase`.
    pub(super) fn meet(&mut self, phase: usize) {
        let last = self.now.iter().copied().fold(0.0, f64::max);
        self.count(phase, |clocks| clocks.now.fill(last));
    }

    /// Simulates an exchange of `messages` (a row per rank, by index of aggregator). O(p^2) time, O(p aggregators)
    /// memory.
    pub(super) fn exchange(&mut self, phase: usize, messages: &AmountMatrix) {
        self.count(phase, |clocks| clocks.steps(messages));
    }

    fn count(&mut self, phase: usize, work: impl FnOnce(&mut Self)) {
        let before = self.now.clone();
        work(self);
        for ((spent, now), before) in self.spent.iter_mut().zip(&self.now).zip(before) {
            spent[phase] += (now - before).round() as Time;
        }
    }

    fn steps(&mut self, messages: &AmountMatrix) {
        let ranks = self.now.len();
        let aggregators = &self.parties.aggregators;
        let mut bytes = vec![0u32; aggregators.len() * ranks];
        for rank in 0..ranks {
            messages.row(rank).iter().for_each(|cell| bytes[cell.peer as usize * ranks + rank] = cell.amount);
        }
        let mut loads = Vec::with_capacity(aggregators.len());
        for step in 1..ranks {
            loads.clear();
            for (row, &to) in aggregators.iter().enumerate() {
                let from = (to + step) % ranks;
                let bytes = u64::from(bytes[row * ranks + from]);
                loads.extend((bytes > 0).then_some(Load { from, to, bytes }));
            }
            self.step(step, &loads);
        }
        self.connected = true;
    }

    fn step(&mut self, step: usize, loads: &[Load]) {
        let (host, ranks) = (&self.machine.host, self.now.len());
        let posting = host.post_receive + host.send;
        self.posted.iter_mut().zip(&self.now).for_each(|(posted, now)| *posted = now + posting);
        let eager = |load: &&Load| load.bytes <= self.machine.eager_limit;
        for load in loads.iter().filter(eager) {
            self.posted[load.from] += load.bytes as f64 * host.send_byte;
        }
        let connects = !self.connected;
        if connects {
            self.connect(step);
        }
        let taken = host.receive + host.check;
        let latency = self.machine.paths[2].short.latency;
        if connects || self.is_near(step) {
            for rank in 0..ranks {
                let from = (rank + step) % ranks;
                let arrival = self.posted[from] + self.line(from, rank, 0).latency;
                self.now[rank] = self.posted[rank].max(arrival) + taken;
            }
        } else {
            let (low, high) = self.now.split_at_mut(ranks - step);
            pass(low, &self.posted[..ranks - step], &self.posted[step..], latency, taken);
            pass(high, &self.posted[ranks - step..], &self.posted[..step], latency, taken);
        }
        if connects {
            self.connected(step);
        }
        loads.iter().for_each(|load| self.deliver(load, taken));
    }

    /// Returns true if ranks whose numbers differ by `step` may share a node.
    fn is_near(&self, step: usize) -> bool {
        step < self.reach || self.now.len() - step < self.reach
    }

    fn line(&self, from: Rank, to: Rank, bytes: u64) -> CostLine {
        let (from, to) = (self.places[from], self.places[to]);
        let way = if from.0 != to.0 { 2 } else { usize::from(from.1 != to.1) };
        *self.machine.paths[way].line(bytes, self.machine.eager_limit)
    }

    /// Makes the first message between ranks of two nodes wait for its connection.
    fn connect(&mut self, step: usize) {
        let Some(connection) = self.machine.connection else { return };
        let ranks = self.now.len();
        for rank in 0..ranks {
            let to = (rank + ranks - step) % ranks;
            if self.places[rank].0 != self.places[to].0 {
                self.posted[rank] += connection.send;
            }
        }
    }

    /// Adds the receiver's cost of a new connection, and the sender's wait for it.
    fn connected(&mut self, step: usize) {
        let Some(connection) = self.machine.connection else { return };
        let (control, ranks) = (self.machine.host.control, self.now.len());
        let made = |clocks: &Self, from: Rank, to: Rank| clocks.places[from].0 != clocks.places[to].0;
        for rank in 0..ranks {
            if made(self, (rank + step) % ranks, rank) {
                self.now[rank] += connection.receive + connection.held * (step - 1) as f64 + control;
            }
        }
        let ended = self.now.clone();
        for rank in 0..ranks {
            let to = (rank + ranks - step) % ranks;
            if made(self, rank, to) {
                let latency = self.line(rank, to, 0).latency;
                self.now[rank] = self.now[rank].max(ended[to] + latency) + control;
            }
        }
    }

    /// Adds the cost of a nonempty message to the step.
    fn deliver(&mut self, load: &Load, taken: f64) {
        let Load { from, to, bytes } = *load;
        let (host, line) = (&self.machine.host, self.line(from, to, bytes));
        let empty = self.line(from, to, 0);
        let body = bytes as f64 * line.byte;
        if bytes <= self.machine.eager_limit {
            let late = (self.posted[from] + line.latency + body).max(self.posted[to]) + taken;
            let sooner = (self.posted[from] + empty.latency).max(self.posted[to]) + taken;
            self.now[to] += late - sooner + bytes as f64 * host.receive_byte;
            return;
        }
        let matched = self.posted[to].max(self.posted[from] + empty.latency) + host.receive;
        let answer = host.rendezvous + host.control;
        let leaves = (matched + answer + empty.latency).max(self.posted[from]) + answer;
        let arrived = leaves + body + line.latency;
        self.now[to] = self.now[to].max(arrived + taken);
        self.now[from] = self.now[from].max(leaves + body + host.control);
    }
}

/// Computes the clocks after one step of empty messages, in picoseconds.
fn pass(now: &mut [f64], own: &[f64], others: &[f64], latency: f64, taken: f64) {
    for ((now, own), other) in now.iter_mut().zip(own).zip(others) {
        *now = own.max(other + latency) + taken;
    }
}

impl CollectiveWrite {
    /// Returns true if every rank exchanges with every other in both phases, empty messages included, as in the paper's
    /// pairwise. Such a write is not run as a workload, but by [`CollectiveWrite::in_lockstep`].
    pub fn is_in_lockstep(&self) -> bool {
        let pairwise = |way: &PhaseKernel| way.local().is_none() && *way.kernel() == PAIRWISE;
        self.options.empty_steps && pairwise(&self.metadata) && pairwise(&self.data)
    }

    /// Returns the times of a write for which [`CollectiveWrite::is_in_lockstep`] holds. File servers have no
    /// contention, and every aggregator waits for its window. Calls `passed` after each exchange. O(ranks^2) per
    /// exchange.
    pub fn in_lockstep(&self, machine: &Machine, passed: impl Fn()) -> Written {
        let mut clocks = Clocks::new(machine, &self.parties);
        clocks.charge(ONCE, |rank| self.step_cost(machine, rank, WriteStage::Flatten));
        let lists = match self.counts.division.lists {
            MetadataForm::Pairs => vec![self.counts.lists.clone()],
            MetadataForm::Packed => list_messages(&self.counts.lists, self.parties.aggregators.len()).to_vec(),
        };
        for messages in &lists {
            clocks.exchange(METADATA, messages);
            passed();
        }
        clocks.meet(METADATA);
        for (number, round) in self.counts.rounds.iter().enumerate() {
            clocks.exchange(DATA, &round.data);
            clocks.charge(PLACING, |rank| self.step_cost(machine, rank, WriteStage::Place(number)));
            clocks.charge(FILE, |rank| self.step_cost(machine, rank, WriteStage::Write(number)));
            passed();
        }
        Written::of(clocks.spent(), self.scale(), &self.parties.aggregators)
    }

    /// Returns the local cost of a stage on one rank, without communication, in picoseconds.
    fn step_cost(&self, machine: &Machine, rank: Rank, stage: WriteStage) -> f64 {
        match self.step(rank, stage) {
            Step::Compute(time) => time as f64,
            Step::Write(extents, _) => machine.storage.map_or(0.0, |storage| {
                let bytes = |extent: &Extent| extent.len as f64 * storage.byte.max(storage.client_byte);
                extents.iter().map(|extent| storage.latency + bytes(extent)).sum()
            }),
            Step::Settle(_) => 0.0,
        }
    }
}
