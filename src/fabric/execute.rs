//! Runs a schedule over any transport. This module contains no algorithm: the schedule says what to do, [`Progress`]
//! says when.
//!
//! The functions are `async` without a runtime: each poll of the future polls the fabric once and makes progress.
//! [`Waiting::wait`] polls until the future is done and yields the core in between. If the rank can start nothing
//! before one certain message has arrived, it blocks on that message inside the fabric ([`Progress::awaited`],
//! [`Transport::wait`]). It does so only under [`Waiting::wait`]: a future that is merely tested never blocks.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;

use super::failure::FailureHandling;
use super::shared::{Grouped, Hosts, HostsAre, Shared, Watch};
use super::transport::{Completion, Message, Ticket, Transport};
use super::waiting::{Pending, Waiting, pause};
use crate::error::{Error, Result};
use crate::schedule::{Action, Op, OpId, Progress, ReduceOp, Schedule, Span};
use crate::topology::{Rank, Topology};

/// The memory behind the named buffers of a schedule. An error of any function ends the run of the schedule.
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
        Err(Error::Internal { rank: 0, what: "memory that reduces nothing".to_string() })
    }

    /// Returns true if an operation can start whose dependencies are finished. An operation on memory that other ranks
    /// share may have to wait for these ranks; the function is then called again, before later operations.
    fn is_ready(&mut self, _op: &Op) -> bool {
        true
    }

    /// Returns the word in shared memory that changes when an operation may become ready. Called after
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
    /// Number of bytes that went to another host. If hosts are unknown, each rank counts as a host.
    pub between_hosts: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.between_hosts += other.between_hosts;
    }
}

thread_local! {
    /// True if this thread may use the transport.
    static SENDS: Cell<bool> = const { Cell::new(true) };
}

/// Forbids this thread the transport: futures that it polls stop when they need messages, until another thread polls
/// them. For a helper thread of a rank whose MPI lets one thread at a time call it.
pub fn send_nothing_here() {
    SENDS.set(false);
}

/// Waits until a thread polls that may use the transport.
pub async fn on_a_sending_thread() {
    while !SENDS.get() {
        pause().await;
    }
}

/// One rank's connection to all other ranks: its transport, with functions to run schedules on it and to wait.
pub struct Endpoint {
    transport: Box<dyn Transport>,
    waiting: Waiting,
    grouped: Option<Grouped>,
    /// Hosts in use, and whether they are real.
    hosts: Option<(HostsAre, Arc<Hosts>)>,
    /// Label of each rank's real host, once all are known.
    labels: Option<Arc<[usize]>>,
    /// Nodes of the ranks, once they are known.
    topology: Option<Topology>,
}

impl Endpoint {
    /// Returns the endpoint of a transport. Local.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        let waiting = Waiting::new(transport.idle(), FailureHandling::new(transport.rank(), transport.stop()));
        Self { transport, waiting, grouped: None, hosts: None, labels: None, topology: None }
    }

    /// Counts messages between nodes of `topology` as messages between hosts from here on.
    pub fn count_between(&mut self, topology: Topology) {
        self.topology = Some(topology);
    }

    /// Returns this rank.
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
        self.hosts().filter(|hosts| hosts.leaders().len() == 1)?.here().cloned()
    }

    pub(super) fn grouped(&self) -> Option<&Grouped> {
        self.grouped.as_ref()
    }

    pub(super) fn set_grouped(&mut self, grouped: Grouped) {
        self.grouped = Some(grouped);
    }

    /// Returns the hosts of the ranks, once they are found.
    pub fn hosts(&self) -> Option<&Arc<Hosts>> {
        self.hosts.as_ref().map(|(_, hosts)| hosts)
    }

    /// Returns the label of each rank's host, once hosts are found, also if memory is not shared.
    pub fn labels(&self) -> Option<&Arc<[usize]>> {
        self.labels.as_ref()
    }

    /// Makes ranks share no memory from here on. `labels` are the labels of their hosts. Local; all ranks must call it.
    pub fn share_nothing(&mut self, labels: Arc<[usize]>) {
        (self.hosts, self.labels) = (None, Some(labels));
    }

    pub(super) fn found_hosts(&self) -> Option<&(HostsAre, Arc<Hosts>)> {
        self.hosts.as_ref()
    }

    pub(super) fn set_hosts(&mut self, are: HostsAre, hosts: Arc<Hosts>, labels: Arc<[usize]>) {
        (self.hosts, self.labels) = (Some((are, hosts)), Some(labels));
    }

    /// Lets MPI progress messages while this rank waits for a word in shared memory.
    pub(super) fn progress(&mut self) -> Result<()> {
        if !SENDS.get() {
            return Ok(());
        }
        self.transport.progress()
    }

    /// Waits until a word in shared memory changes, or for a short time.
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
    /// schedules name runs its own schedule; schedules that may be in flight at once on different ranks must have
    /// different tags or run in the same order on all ranks.
    ///
    /// # Errors
    /// Errors of the message transport or the memory. Operations may then still be in flight, and the endpoint must not
    /// be used again.
    pub async fn run(&mut self, schedule: Schedule, memory: &mut dyn Memory, tag: u16) -> Result<Traffic> {
        let (by_ticket, not_ready, in_flight, awaited, traffic) = Default::default();
        let elsewhere = Elsewhere { rank: self.rank(), nodes: self.topology.clone() };
        let progress = Progress::new(schedule);
        let mut run = Run { progress, by_ticket, not_ready, in_flight, awaited, traffic, tag, elsewhere };
        let mut done = Vec::new();
        loop {
            if !run.progress.is_done() {
                on_a_sending_thread().await;
            }
            if run.start_ready(&mut *self.transport, memory)? {
                self.waiting.event();
            }
            if run.progress.is_done() {
                self.waiting.set_pending(None);
                return Ok(run.traffic);
            }
            self.transport.poll(&mut done)?;
            if done.is_empty() {
                self.waiting.set_pending(run.pending());
            }
            if done.is_empty()
                && self.waiting.may_block()
                && run.not_ready.is_empty()
                && let Some(ticket) = run.awaited()
            {
                self.transport.wait(ticket, &mut done)?;
            }
            if done.is_empty() {
                match memory.watch().filter(|_| !run.not_ready.is_empty()) {
                    // Messages are in flight too: wait only briefly.
                    Some(watch) if !run.by_ticket.is_empty() => self.watch(watch.briefly()).await,
                    Some(watch) => self.watch(watch).await,
                    None => pause().await,
                }
                continue;
            }
            self.waiting.event();
            for completion in done.drain(..) {
                run.complete(completion, memory)?;
            }
        }
    }
}

/// The state of a schedule that runs.
struct Run {
    progress: Progress,
    by_ticket: HashMap<Ticket, OpId>,
    /// Operations that the memory is not ready for, in order.
    not_ready: Vec<OpId>,
    /// Inverse of `by_ticket`, in the order of the schedule.
    in_flight: BTreeMap<OpId, Ticket>,
    /// Result of [`Run::awaited`], until an operation completes.
    awaited: Option<Option<Ticket>>,
    traffic: Traffic,
    tag: u16,
    elsewhere: Elsewhere,
}

/// Knows which ranks are on other nodes; no rank is, as long as nodes are unknown.
struct Elsewhere {
    rank: Rank,
    nodes: Option<Topology>,
}

impl Elsewhere {
    fn has(&self, rank: Rank) -> bool {
        self.nodes.as_ref().is_some_and(|nodes| nodes.node_of(rank) != nodes.node_of(self.rank))
    }
}

impl Run {
    /// Starts all operations that can start. Returns true if one of them was not ready before.
    fn start_ready(&mut self, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<bool> {
        let mut any = false;
        for id in std::mem::take(&mut self.not_ready) {
            any |= self.start_if_ready(id, transport, memory)?;
        }
        while let Some(id) = self.progress.next_ready() {
            self.start_if_ready(id, transport, memory)?;
        }
        Ok(any)
    }

    fn start_if_ready(&mut self, id: OpId, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<bool> {
        let ready = memory.is_ready(&self.progress.schedule().ops()[id as usize]);
        match ready {
            true => self.start(id, transport, memory)?,
            false => self.not_ready.push(id),
        }
        Ok(ready)
    }

    fn start(&mut self, id: OpId, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<()> {
        let op = self.progress.schedule().ops()[id as usize];
        let tag = self.tag * 4 + u16::from(op.stage);
        let ticket = match op.action {
            Action::Send { to, mode } => {
                let message = memory.read(op.span)?;
                let bytes = message.len() as u64;
                let between_hosts = if self.elsewhere.has(to) { bytes } else { 0 };
                self.traffic += Traffic { messages: 1, bytes, between_hosts };
                transport.send(to, tag, mode, message)?
            }
            Action::Receive { from } => transport.receive(from, tag, op.span.len)?,
            Action::Copy { from } => return memory.copy(from, op.span).map(|()| self.progress.finish(id)),
            Action::Reduce { from, with } => {
                return memory.reduce(from, op.span, with).map(|()| self.progress.finish(id));
            }
            Action::Join => {
                self.progress.finish(id);
                return Ok(());
            }
        };
        self.by_ticket.insert(ticket, id);
        self.in_flight.insert(id, ticket);
        Ok(())
    }

    /// Returns the first message in flight, and the number of the others.
    fn pending(&self) -> Option<Pending> {
        let (&id, _) = self.in_flight.first_key_value()?;
        let (peer, is_sent) = match self.progress.schedule().ops()[id as usize].action {
            Action::Send { to, .. } => (to, true),
            Action::Receive { from } => (from, false),
            _ => return None,
        };
        Some(Pending { peer, is_sent, more: self.in_flight.len() - 1 })
    }

    /// Returns the message to block on, once all ready operations have been started.
    fn awaited(&mut self) -> Option<Ticket> {
        let Self { progress, in_flight, awaited, .. } = self;
        *awaited.get_or_insert_with(|| {
            progress.awaited(in_flight.keys().copied()).and_then(|id| in_flight.get(&id).copied())
        })
    }

    fn complete(&mut self, completion: Completion, memory: &mut dyn Memory) -> Result<()> {
        self.awaited = None;
        let id =
            self.by_ticket.remove(&completion.ticket).ok_or_else(|| Error::Fabric("an unknown completion".into()))?;
        self.in_flight.remove(&id);
        let op = self.progress.schedule().ops()[id as usize];
        if let (Action::Receive { from }, Some(message)) = (op.action, completion.message) {
            memory.write(from, op.span, message)?;
        }
        self.progress.finish(id);
        Ok(())
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
    Err(Error::Fabric(format!("{} bytes came from rank {from} where {} were due", message.len(), span.len)))
}
