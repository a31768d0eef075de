//! A simulated network for ranks that run elsewhere, and post their messages one by one: the engine in virtual time.
//!
//! Costs, matching, protocols and ports are those of [`super::engine`]. Only the next operation of a rank comes from outside, at
//! the time of the caller's clock, in place of a [`Workload`].

use std::collections::{HashMap, VecDeque};

use super::Time;
use super::engine::Engine;
use super::machine::Machine;
use super::matching::MatchKey;
use super::message::Message;
use super::program::{Handle, RankProgram, Work};
use super::workload::{WorkPart, Workload};
use tributary::schedule::SendMode;
use tributary::topology::{Rank, Topology};

/// Number of an operation of a rank. No two operations of a rank have the same number.
pub type Operation = u32;

/// Number of picoseconds of a nanosecond.
const NANO: Time = 1_000;

/// A network on which ranks post their operations. All its times are nanoseconds.
pub struct PostedNetwork {
    engine: Engine<'static, Outside>,
}

/// An operation that has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The operation.
    pub operation: Operation,
    /// Sender and send of the message, if the operation is a receive.
    pub message: Option<(Rank, Operation)>,
}

/// The workload of ranks that run elsewhere: nothing.
struct Outside;

impl Workload for Outside {
    fn part(&self, _: Rank, _: u32) -> Option<WorkPart> {
        None
    }
}

/// The operations that a rank has posted.
#[derive(Debug, Default)]
pub(super) struct PostedOperations {
    last: Handle,
    /// Operations that the network has not begun.
    new: VecDeque<Handle>,
    /// Receives that have not finished, and sends whose messages are not received.
    works: HashMap<Handle, Work>,
    /// Sender and send of the message of each receive that is matched.
    messages: HashMap<Handle, (u32, Handle)>,
    /// Operations that have finished, with their times, in order.
    finished: VecDeque<(Time, Handle)>,
}

impl PostedOperations {
    fn post(&mut self, work: Work) -> Handle {
        self.last += 1;
        self.works.insert(self.last, work);
        self.new.push_back(self.last);
        self.last
    }

    pub(super) fn next(&mut self) -> Option<Handle> {
        self.new.pop_front()
    }

    pub(super) fn work(&self, handle: Handle) -> Work {
        self.works.get(&handle).copied().unwrap_or(Work::Memory { bytes: 0 })
    }

    /// Returns the number of the tag of a send.
    fn tag(&self, send: Handle) -> u32 {
        match self.works.get(&send) {
            Some(Work::Send { stage, .. }) => *stage,
            _ => 0,
        }
    }

    pub(super) fn matched(&mut self, receive: Handle, message: &Message) {
        self.messages.insert(receive, (message.from, message.handle));
    }

    pub(super) fn finish(&mut self, handle: Handle, now: Time) {
        self.finished.push_back((now, handle));
    }
}

impl Engine<'_, Outside> {
    fn posted(&mut self, rank: Rank) -> Option<&mut PostedOperations> {
        match &mut self.hosts[rank].program {
            RankProgram::Posted(posted) => Some(posted),
            _ => None,
        }
    }
}

impl<W: Workload> Engine<'_, W> {
    /// Returns the key of the receives that match a posted message.
    pub(super) fn posted_key(&self, message: &Message) -> MatchKey {
        let stage = match &self.hosts[message.from as usize].program {
            RankProgram::Posted(posted) => posted.tag(message.handle),
            _ => 0,
        };
        MatchKey { from: message.from, stage }
    }
}

impl PostedNetwork {
    /// Returns the network of a machine. A run keeps a copy of the machine for ever.
    pub fn new(machine: &Machine, topology: &Topology, seed: u64) -> Self {
        let machine: &'static Machine = Box::leak(Box::new(machine.clone()));
        let mut engine = Engine::new(machine, topology, &Outside, seed);
        engine.is_posted = true;
        for host in &mut engine.hosts {
            host.program = RankProgram::Posted(Box::default());
        }
        Self { engine }
    }

    /// Posts a send of `bytes` bytes at `now`. Tags are small numbers.
    pub fn send(&mut self, rank: Rank, (to, tag): (Rank, u32), mode: SendMode, bytes: u64, now: u64) -> Operation {
        self.post(rank, Work::Send { to, mode, bytes, stage: tag }, now)
    }

    /// Posts a receive of a message with this sender and tag at `now`.
    pub fn receive(&mut self, rank: Rank, (from, tag): (Rank, u32), now: u64) -> Operation {
        self.post(rank, Work::Receive { from, stage: tag }, now)
    }

    fn post(&mut self, rank: Rank, work: Work, now: u64) -> Operation {
        let now = now * NANO;
        let host = &mut self.engine.hosts[rank];
        host.cpu = host.cpu.max(now);
        let operation = self.engine.posted(rank).map_or(0, |posted| posted.post(work));
        self.engine.advance(rank, now);
        self.engine.settle_receipts();
        operation
    }

    /// Returns the time at which a rank's processor has done its work.
    pub fn clock(&self, rank: Rank) -> u64 {
        self.engine.hosts[rank].cpu.div_ceil(NANO)
    }

    /// Lets a processor look at `extents` extents and copy `bytes` bytes from `now` on: that of a rank, or of a thread beside it.
    /// Returns the time when this is done.
    pub fn work(&mut self, rank: Option<Rank>, extents: u64, bytes: u64, now: u64) -> u64 {
        let machine = self.engine.machine;
        let cost = extents as f64 * machine.requests.visit + bytes as f64 * machine.host.copy_byte;
        let from = rank.map_or(0, |rank| self.engine.hosts[rank].cpu).max(now * NANO);
        let done = self.engine.network.work_from(from, cost);
        if let Some(rank) = rank {
            self.engine.hosts[rank].cpu = done;
        }
        done.div_ceil(NANO)
    }

    /// Returns the next operation of a rank that has finished by `now`.
    pub fn finished(&mut self, rank: Rank, now: u64) -> Option<Finished> {
        let posted = self.engine.posted(rank)?;
        let &(_, operation) = posted.finished.front().filter(|(time, _)| *time <= now * NANO)?;
        posted.finished.pop_front();
        let Some((from, send)) = posted.messages.remove(&operation) else {
            return Some(Finished { operation, message: None });
        };
        posted.works.remove(&operation);
        let sender = self.engine.posted(from as Rank)?;
        sender.works.remove(&send);
        Some(Finished { operation, message: Some((from as Rank, send)) })
    }

    /// Returns the time of the first operation of a rank that has finished and was not returned.
    pub fn first_finished(&mut self, rank: Rank) -> Option<u64> {
        self.engine.posted(rank)?.finished.front().map(|(time, _)| time.div_ceil(NANO))
    }

    /// Returns the time of the next event.
    pub fn next_event(&mut self) -> Option<u64> {
        self.engine.wheel.peek().map(|time| time.div_ceil(NANO))
    }

    /// Lets all events up to `now` happen. Calls `touch` with the ranks that they concern.
    pub fn happen(&mut self, now: u64, mut touch: impl FnMut(Rank)) {
        while self.engine.wheel.peek().is_some_and(|time| time <= now * NANO)
            && let Some((time, message)) = self.engine.next()
        {
            self.engine.event(time, message);
            touch(message.from as Rank);
            touch(message.to as Rank);
        }
    }

    /// Returns the number of messages so far, and the number of bytes between nodes.
    pub fn counted(&self) -> (u64, u64) {
        (self.engine.count.matched, self.engine.count.outside)
    }
}
