//! Runs a schedule over any transport. This module contains no algorithm: the schedule says what to do, [`Progress`]
//! says when.
//!
//! The functions are `async` without a runtime: each poll of the future polls the fabric once and makes progress.
//! [`Waiting::wait`] polls until the future is done and yields the core in between. If the rank can start nothing
//! before one certain message has arrived, it blocks on that message inside the fabric ([`Progress::awaited`],
//! [`Transport::wait`]). It does so only under [`Waiting::wait`]: a future that is merely tested never blocks.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;

use super::shared::{CallBoard, Grouped, Hosts, HostsAre, Shared, Watch};
use super::waiting::{FailureHandling, Pending, Waiting, pause};
use super::{Completion, Message, Ticket, Transport};
use crate::error::{Error, Result};
use crate::schedule::{Action, Op, OpId, Progress, ReduceOp, Schedule, Span};
use crate::topology::{Rank, Topology};
use crate::world::process::per_thread;

/// The memory that the named buffers of a schedule stand for. An error of any function ends the run of the schedule.
pub trait Memory {
    /// Returns the bytes of a span, to be sent.
    ///
    /// # Errors
    /// Errors of the implementation.
    fn read(&mut self, span: Span) -> Result<Message>;

    /// Stores a message from rank `from` in `span`. The message may be shorter than the span.
    ///
    /// # Errors
    /// Errors of the implementation.
    fn write(&mut self, from: Rank, span: Span, message: Message) -> Result<()>;

    /// Copies `from` to `to`. The implementation may transform the bytes.
    ///
    /// # Errors
    /// Errors of the implementation.
    fn copy(&mut self, from: Span, to: Span) -> Result<()>;

    /// Reduces `from` into `to`. Memory of schedules without reductions does not implement it.
    ///
    /// # Errors
    /// Errors of the implementation; [`Error::Internal`] if it is not implemented.
    fn reduce(&mut self, _from: Span, _to: Span, _with: ReduceOp) -> Result<()> {
        Err(Error::internal(0, "memory that reduces nothing"))
    }

    /// Sets the schedule of the flight ([`InFlight`]) that the next calls are about: 0 is the first.
    fn turn_to(&mut self, _schedule: usize) {}

    /// Returns true if an operation can start whose dependencies are finished. An operation on memory that other ranks
    /// share may have to wait for these ranks; the function is then called once more, before later operations start.
    fn is_ready(&mut self, _op: &Op) -> bool {
        true
    }

    /// Returns a watch on the counter in shared memory that changes when an operation may become ready. Called after
    /// [`Memory::is_ready`] has returned false.
    fn watch(&mut self) -> Option<Watch> {
        None
    }
}

/// Messages and bytes that one rank sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes of the messages.
    pub bytes: u64,
    /// Number of bytes that went to another host; 0 until [`Endpoint::count_between`] sets the hosts.
    pub between_hosts: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.between_hosts += other.between_hosts;
    }
}

per_thread! {
    /// True if this thread may use the transport.
    static SENDS: Cell<bool> = const { Cell::new(true) };
}

/// Forbids this thread the transport: futures that it polls stop when they need messages, until another thread polls
/// them. For a helper thread of a rank whose MPI lets one thread at a time call it.
pub fn forbid_mpi_here() {
    SENDS.set(false);
}

/// Waits until the polling thread is one that may use the transport.
pub async fn until_mpi_thread() {
    while !SENDS.get() {
        pause().await;
    }
}

/// One rank's connection to all other ranks: its transport, with functions to run schedules on it and to wait.
pub struct Endpoint {
    transport: Box<dyn Transport>,
    waiting: Waiting,
    /// Groups of ranks that share memory.
    pub(super) grouped: Option<Grouped>,
    /// Hosts in use, and the rule that defines them.
    pub(super) hosts: Option<(HostsAre, Arc<Hosts>)>,
    /// Real hosts of the ranks, once they are known.
    real: Option<Topology>,
    /// Nodes between which messages count as messages between hosts.
    topology: Option<Topology>,
    board: Arc<CallBoard>,
}

impl Endpoint {
    /// Returns an endpoint that sends its messages over `transport`. Local.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        let waiting = Waiting::new(transport.idle(), FailureHandling::new(transport.rank(), transport.stop()));
        let (grouped, hosts, real, topology, board) = Default::default();
        Self { transport, waiting, grouped, hosts, real, topology, board }
    }

    /// Counts messages between nodes of `topology` as messages between hosts from now on.
    pub fn count_between(&mut self, topology: Topology) {
        self.topology = Some(topology);
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> Rank {
        self.transport.rank()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.transport.ranks()
    }

    /// Returns [`Transport::node_label`]: equal labels mean that ranks can share memory.
    pub fn node_label(&self) -> usize {
        self.transport.node_label()
    }

    /// Returns [`Transport::shares_memory`]: true if ranks of a host share memory without a hint.
    pub fn shares_memory(&self) -> bool {
        self.transport.shares_memory()
    }

    /// Returns true if messages may lie in the caller's memory for the time of a call ([`Transport::sends_in_place`]).
    /// False if failures are returned, because messages may then still be in flight.
    pub fn sends_in_place(&self) -> bool {
        self.transport.sends_in_place() && !self.waiting.failure().returns()
    }

    /// Returns the memory that all ranks share; `None` unless they were found on one host.
    pub fn shared(&self) -> Option<Arc<Shared>> {
        self.hosts().filter(|hosts| hosts.count() == 1)?.here().cloned()
    }

    /// Returns the hosts of the ranks, once they are found.
    pub fn hosts(&self) -> Option<&Arc<Hosts>> {
        self.hosts.as_ref().map(|(_, hosts)| hosts)
    }

    /// Returns the real hosts of the ranks, once they are known, also if memory is not shared.
    pub fn real_hosts(&self) -> Option<&Topology> {
        self.real.as_ref()
    }

    /// Returns the board that shows this rank's calls that the MPI library runs.
    pub fn board(&self) -> &Arc<CallBoard> {
        &self.board
    }

    /// Makes ranks share no memory from now on. `real` are their hosts. Local; all ranks must call it.
    pub fn share_nothing(&mut self, real: Topology) {
        self.board.set(None);
        (self.hosts, self.real) = (None, Some(real));
    }

    pub(super) fn set_hosts(&mut self, are: HostsAre, hosts: Arc<Hosts>, real: Topology) {
        self.board.set(hosts.here().cloned());
        (self.hosts, self.real) = (Some((are, hosts)), Some(real));
    }

    /// Lets MPI progress messages while this rank waits for a counter in shared memory.
    pub(super) fn progress(&mut self) -> Result<()> {
        if !SENDS.get() {
            return Ok(());
        }
        self.transport.progress()
    }

    /// Waits until a counter in shared memory changes, or for a short time.
    pub(super) async fn watch(&mut self, watch: Watch) {
        self.waiting.watch(Some(watch));
        pause().await;
        self.waiting.watch(None);
    }

    /// Returns an endpoint over the same ranks with a communication context of its own. Collective.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub fn duplicate(&mut self) -> Result<Self> {
        Ok(Self::new(self.transport.duplicate()?))
    }

    /// Returns the waiting of this rank: how it polls, yields and sleeps.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Runs a schedule to its end and waits for it; see [`Endpoint::run`].
    ///
    /// # Errors
    /// Errors of the message transport or the memory.
    pub fn run_and_wait(&mut self, schedule: Schedule, memory: &mut dyn Memory, tag: u16) -> Result<Traffic> {
        let waiting = self.waiting.clone();
        waiting.wait(pin!(self.run(schedule, memory, tag)))
    }

    /// Runs a schedule to its end. Its messages carry `tag` (below 2^13) and the operation's stage. Every rank that the
    /// schedules name runs its own schedule. Schedules that may be in flight at once on different ranks must have different
    /// tags, or run in the same order on all ranks.
    ///
    /// # Errors
    /// Errors of the message transport or the memory. Operations may then still be in flight, and the endpoint must not
    /// be used any more.
    pub async fn run(&mut self, schedule: Schedule, memory: &mut dyn Memory, tag: u16) -> Result<Traffic> {
        let mut flight = self.flight(tag);
        flight.start(schedule);
        loop {
            if let Some(traffic) = self.advance(&mut flight, memory).await? {
                return Ok(traffic);
            }
        }
    }

    /// Returns a flight without schedules, whose messages carry `tag` as in [`Endpoint::run`].
    pub fn flight(&self, tag: u16) -> InFlight {
        let elsewhere = NodeMap { rank: self.rank(), nodes: self.topology.clone() };
        let (runs, first, by_ticket, early, done) = Default::default();
        InFlight { runs, first, by_ticket, early, done, tag, elsewhere }
    }

    /// Makes progress with the schedules of a flight, of which there is at least one. If the first schedule has ended,
    /// removes it from the flight and returns its traffic. Returns `None` if another schedule might be started now, or
    /// if the caller should repeat the call.
    ///
    /// # Errors
    /// As [`Endpoint::run`].
    pub async fn advance(&mut self, flight: &mut InFlight, memory: &mut dyn Memory) -> Result<Option<Traffic>> {
        if !flight.first_is_done() {
            until_mpi_thread().await;
        }
        if flight.start_ready(&mut *self.transport, memory)? {
            self.waiting.event();
        }
        if flight.first_is_done() {
            self.waiting.set_pending(None);
            return Ok(flight.pop());
        }
        let mut done = std::mem::take(&mut flight.done);
        self.transport.poll(&mut done)?;
        if done.is_empty() {
            self.waiting.set_pending(flight.pending());
        }
        if done.is_empty()
            && self.waiting.may_block()
            && let Some(ticket) = flight.awaited()
        {
            self.transport.wait(ticket, &mut done)?;
        }
        if done.is_empty() {
            match memory.watch().filter(|_| flight.is_held_back()) {
                // Messages are in flight too: wait only briefly.
                Some(watch) if !flight.by_ticket.is_empty() => self.watch(watch.briefly()).await,
                Some(watch) => self.watch(watch).await,
                None => pause().await,
            }
        } else {
            self.waiting.event();
            for completion in done.drain(..) {
                flight.complete(completion, memory)?;
            }
        }
        flight.done = done;
        Ok(None)
    }
}

/// Schedules of one rank that are in flight at the same time, such as those of several rounds.
///
/// A schedule joins when all operations of the schedules before it have started. It leaves when it is the first and has
/// ended. So the messages between two ranks start in the order of the schedules on both sides, and match with one tag. The
/// first schedule never waits for another, so there is no deadlock, as if the schedules ran one after the other: the earliest
/// schedule that any rank has not finished makes progress.
///
/// Together the schedules stay below the sliding limits that each of them has. A call of [`Memory`] belongs to the schedule
/// of the last [`Memory::turn_to`]; calls for the messages of one rank come in the order of the schedules.
pub struct InFlight {
    runs: VecDeque<Run>,
    /// Number of schedules that have ended and left the flight.
    first: u64,
    /// For each message in flight: the number of its schedule (the first that joined has number 0), and its operation.
    by_ticket: HashMap<Ticket, (u64, OpId)>,
    /// Messages that have arrived before a message from the same rank for an earlier schedule.
    early: Vec<(u64, OpId, Message)>,
    /// Memory for completions.
    done: Vec<Completion>,
    tag: u16,
    elsewhere: NodeMap,
}

/// The state of a schedule that runs.
struct Run {
    progress: Progress,
    /// Operations that the memory is not ready for, or that other schedules' messages hold back, in order.
    not_ready: Vec<OpId>,
    /// Messages that have started, in the order of the schedule.
    in_flight: BTreeMap<OpId, Ticket>,
    /// Result of [`Progress::awaited`], until an operation completes.
    awaited: Option<Option<Ticket>>,
    traffic: Traffic,
}

/// Knows which ranks are on other nodes than this rank. While the nodes are unknown, it counts no rank as such.
struct NodeMap {
    rank: Rank,
    nodes: Option<Topology>,
}

impl NodeMap {
    fn has(&self, rank: Rank) -> bool {
        self.nodes.as_ref().is_some_and(|nodes| nodes.node_of(rank) != nodes.node_of(self.rank))
    }
}

impl Run {
    fn action(&self, id: OpId) -> Action {
        self.progress.schedule().ops()[id as usize].action
    }

    /// Returns true if all operations have started.
    fn has_started(&self) -> bool {
        self.progress.unfinished() == self.in_flight.len()
    }

    /// Returns true if a message of `rank` for this schedule is in flight.
    fn receives_from(&self, rank: Rank) -> bool {
        self.in_flight.keys().any(|&id| self.action(id) == Action::Receive { from: rank })
    }

    /// Returns the number of messages in flight in the direction of `action`.
    fn outstanding(&self, action: Action) -> usize {
        let kind = std::mem::discriminant(&action);
        self.in_flight.keys().filter(|&&id| std::mem::discriminant(&self.action(id)) == kind).count()
    }
}

impl InFlight {
    /// Lets a schedule join. Nothing of it starts before [`Endpoint::advance`].
    pub fn start(&mut self, schedule: Schedule) {
        let (not_ready, in_flight, awaited, traffic) = Default::default();
        self.runs.push_back(Run { progress: Progress::new(schedule), not_ready, in_flight, awaited, traffic });
    }

    /// Returns the number of schedules in flight.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns the number of schedules that have ended.
    pub fn ended(&self) -> usize {
        self.first as usize
    }

    /// Returns true if no schedule is in flight.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns true if another schedule may join: all operations of all others have started.
    pub fn may_join(&self) -> bool {
        self.runs.back().is_none_or(Run::has_started)
    }

    fn first_is_done(&self) -> bool {
        self.runs.front().is_some_and(|run| run.progress.is_done())
    }

    fn pop(&mut self) -> Option<Traffic> {
        let run = self.runs.pop_front()?;
        self.first += 1;
        Some(run.traffic)
    }

    /// Returns true if operations wait for memory.
    fn is_held_back(&self) -> bool {
        self.runs.iter().any(|run| !run.not_ready.is_empty())
    }

    /// Starts all operations that can start. Returns true if one of them was not ready before.
    fn start_ready(&mut self, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<bool> {
        let mut any = false;
        for at in 0..self.runs.len() {
            memory.turn_to(at);
            for id in std::mem::take(&mut self.runs[at].not_ready) {
                any |= self.start_if_ready(at, id, transport, memory)?;
            }
            while let Some(id) = self.runs[at].progress.next_ready() {
                self.start_if_ready(at, id, transport, memory)?;
            }
        }
        Ok(any)
    }

    fn start_if_ready(
        &mut self,
        at: usize,
        id: OpId,
        transport: &mut dyn Transport,
        memory: &mut dyn Memory,
    ) -> Result<bool> {
        let ready =
            !self.exceeds_limit(at, id) && memory.is_ready(&self.runs[at].progress.schedule().ops()[id as usize]);
        match ready {
            true => self.begin(at, id, transport, memory)?,
            false => self.runs[at].not_ready.push(id),
        }
        Ok(ready)
    }

    /// Returns true if this message, with the messages of earlier schedules, would exceed its sliding limit.
    fn exceeds_limit(&self, at: usize, id: OpId) -> bool {
        let schedule = self.runs[at].progress.schedule();
        let op = schedule.ops()[id as usize];
        let Some(limit) = op.sliding_limit.filter(|_| at > 0) else { return false };
        let outstanding: usize = self.runs.iter().take(at + 1).map(|run| run.outstanding(op.action)).sum();
        outstanding >= schedule.sliding_limits()[usize::from(limit)] as usize
    }

    fn begin(&mut self, at: usize, id: OpId, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<()> {
        let run = &mut self.runs[at];
        let op = run.progress.schedule().ops()[id as usize];
        let tag = self.tag * 4 + u16::from(op.stage);
        let ticket = match op.action {
            Action::Send { to, mode } => {
                let message = memory.read(op.span)?;
                let bytes = message.len() as u64;
                let between_hosts = if self.elsewhere.has(to) { bytes } else { 0 };
                run.traffic += Traffic { messages: 1, bytes, between_hosts };
                transport.send(to, tag, mode, message)?
            }
            Action::Receive { from } => transport.receive(from, tag, op.span.len)?,
            Action::Copy { from } => return memory.copy(from, op.span).map(|()| run.progress.finish(id)),
            Action::Reduce { from, with } => {
                return memory.reduce(from, op.span, with).map(|()| run.progress.finish(id));
            }
            Action::Join => {
                run.progress.finish(id);
                return Ok(());
            }
        };
        self.by_ticket.insert(ticket, (self.first + at as u64, id));
        run.in_flight.insert(id, ticket);
        Ok(())
    }

    /// Returns the first message in flight of the first schedule, and the number of that schedule's other messages.
    fn pending(&self) -> Option<Pending> {
        let run = self.runs.front()?;
        let (&id, _) = run.in_flight.first_key_value()?;
        let (peer, is_sent) = match run.action(id) {
            Action::Send { to, .. } => (to, true),
            Action::Receive { from } => (from, false),
            _ => return None,
        };
        Some(Pending { peer, is_sent, more: run.in_flight.len() - 1 })
    }

    /// Returns the message to block on, once all ready operations have been started. With several schedules, it is a
    /// message of the first schedule, which never waits for the others.
    fn awaited(&mut self) -> Option<Ticket> {
        let is_only_run = self.runs.len() == 1;
        let Run { progress, in_flight, awaited, not_ready, .. } = self.runs.front_mut()?;
        if !not_ready.is_empty() {
            return None;
        }
        if !is_only_run {
            return in_flight.first_key_value().map(|(_, &ticket)| ticket);
        }
        *awaited.get_or_insert_with(|| {
            progress.awaited(in_flight.keys().copied()).and_then(|id| in_flight.get(&id).copied())
        })
    }

    fn complete(&mut self, completion: Completion, memory: &mut dyn Memory) -> Result<()> {
        let found = self.by_ticket.remove(&completion.ticket);
        let (number, id) = found.ok_or_else(|| Error::fabric("an unknown completion"))?;
        let at = (number - self.first) as usize;
        match (self.runs[at].action(id), completion.message) {
            (Action::Receive { from }, Some(message)) => {
                if self.runs.iter().take(at).any(|run| run.receives_from(from)) {
                    self.early.push((number, id, message));
                    return Ok(());
                }
                self.received(number, id, message, memory)?;
                // Messages of the same rank that have waited for this message, in order.
                while let Some(next) = self.early.iter().position(|&(number, id, _)| self.is_next(number, id)) {
                    let (number, id, message) = self.early.remove(next);
                    self.received(number, id, message, memory)?;
                }
            }
            _ => self.finish(at, id),
        }
        Ok(())
    }

    /// Returns true if no earlier schedule still receives from the rank that sent this message.
    fn is_next(&self, number: u64, id: OpId) -> bool {
        let at = (number - self.first) as usize;
        let Action::Receive { from } = self.runs[at].action(id) else { return true };
        !self.runs.iter().take(at).any(|run| run.receives_from(from))
    }

    fn received(&mut self, number: u64, id: OpId, message: Message, memory: &mut dyn Memory) -> Result<()> {
        let at = (number - self.first) as usize;
        let op = self.runs[at].progress.schedule().ops()[id as usize];
        if let Action::Receive { from } = op.action {
            memory.turn_to(at);
            memory.write(from, op.span, message)?;
        }
        self.finish(at, id);
        Ok(())
    }

    fn finish(&mut self, at: usize, id: OpId) {
        let run = &mut self.runs[at];
        run.awaited = None;
        run.in_flight.remove(&id);
        run.progress.finish(id);
    }
}

/// Checks that a message is as long as its span.
///
/// # Errors
/// [`Error::Fabric`] for another length. The error is on this rank only.
pub fn check_whole(from: Rank, span: Span, message: &Message) -> Result<()> {
    if message.len() as u64 == span.len {
        return Ok(());
    }
    Err(Error::fabric(format!("{} bytes came from rank {from} where {} were due", message.len(), span.len)))
}
