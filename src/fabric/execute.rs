//! Runs a schedule over any transport. No algorithm lives here: the schedule says what, [`Progress`] says when.
//!
//! The functions are `async` without a runtime: an await is one look at the fabric that found nothing. Whoever polls the
//! future gives the progress; [`Waiting::wait`] polls until it is done and gives the core away in between. Where one
//! message must come before this rank can start anything, the rank waits for it inside the fabric
//! ([`Progress::awaited`], [`Transport::wait`]), but only if it is waited for: a future that is tested never blocks.

use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::Arc;

use super::agreements::Agreements;
use super::failure::Failure;
use super::shared::{Grouped, Hosts, Shared, Watch};
use super::transport::{Completion, Message, Ticket, Transport};
use super::waiting::{Waiting, pause};
use crate::error::{Error, Result};
use crate::schedule::{Action, Op, OpId, Progress, ReduceOp, Schedule, Span};
use crate::topology::Rank;

/// What stands behind the named buffers of a schedule.
pub trait Memory {
    /// The bytes of a span that is to be sent.
    ///
    /// # Errors
    /// What the memory finds wrong; the run ends.
    fn read(&mut self, span: Span) -> Result<Message>;

    /// Bytes have arrived for `span`; there may be fewer than it holds.
    ///
    /// # Errors
    /// What the memory finds wrong; the run ends.
    fn write(&mut self, from: Rank, span: Span, message: Message) -> Result<()>;

    /// Moves `from` to `to`, transformed as the schedule's maker means it.
    ///
    /// # Errors
    /// What the memory finds wrong; the run ends.
    fn copy(&mut self, from: Span, to: Span) -> Result<()>;

    /// Combines `from` into `to`.
    ///
    /// # Errors
    /// What the memory finds wrong; the run ends.
    fn reduce(&mut self, from: Span, to: Span, with: ReduceOp) -> Result<()>;

    /// Whether an operation whose dependencies are finished can start: one that works on memory shared with other ranks may
    /// have to wait for them. It is asked for again, before those that came later.
    fn is_ready(&mut self, _op: &Op) -> bool {
        true
    }

    /// What changes when an operation that was not ready may be; asked for after [`Memory::is_ready`] has said no.
    fn watch(&mut self) -> Option<Watch> {
        None
    }
}

/// Messages and bytes that one rank sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// One rank's transport, and the means to run schedules on it and to wait.
pub struct Endpoint {
    transport: Box<dyn Transport>,
    waiting: Waiting,
    agreements: Option<Arc<dyn Agreements>>,
    sharing: Sharing,
    grouped: Option<Grouped>,
    /// What [`Endpoint::find_hosts`] found, for which key.
    hosts: Option<(usize, Arc<Hosts>)>,
}

/// Whether the ranks share memory.
enum Sharing {
    Untried,
    /// Tried: they are on one host and have it, or not.
    Tried(Option<Arc<Shared>>),
}

impl Endpoint {
    /// Takes over a transport.
    pub fn new(transport: Box<dyn Transport>) -> Self {
        let waiting = Waiting::new(transport.idle(), Failure::new(transport.rank(), transport.stop()));
        Self { transport, waiting, agreements: None, sharing: Sharing::Untried, grouped: None, hosts: None }
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.transport.rank()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.transport.ranks()
    }

    /// See [`Transport::node_label`].
    pub fn node_label(&self) -> usize {
        self.transport.node_label()
    }

    /// See [`Transport::shares_memory`].
    pub fn shares_memory(&self) -> bool {
        self.transport.shares_memory()
    }

    /// The memory that all ranks share, if [`Endpoint::share`] found them on one host.
    pub fn shared(&self) -> Option<Arc<Shared>> {
        self.shared_ref().cloned()
    }

    pub(super) fn shared_ref(&self) -> Option<&Arc<Shared>> {
        match &self.sharing {
            Sharing::Tried(shared) => shared.as_ref(),
            Sharing::Untried => None,
        }
    }

    pub(super) fn is_sharing_tried(&self) -> bool {
        matches!(self.sharing, Sharing::Tried(_))
    }

    pub(super) fn set_shared(&mut self, shared: Option<Shared>) {
        self.sharing = Sharing::Tried(shared.map(Arc::new));
    }

    pub(super) fn grouped(&self) -> Option<&Grouped> {
        self.grouped.as_ref()
    }

    pub(super) fn set_grouped(&mut self, grouped: Grouped) {
        self.grouped = Some(grouped);
    }

    /// Which ranks are on which host, if [`Endpoint::find_hosts`] was asked.
    pub fn hosts(&self) -> Option<&Arc<Hosts>> {
        self.hosts.as_ref().map(|(_, hosts)| hosts)
    }

    /// Agreements no longer go by hosts.
    pub fn forget_hosts(&mut self) {
        self.hosts = None;
    }

    pub(super) fn hosts_by_key(&self) -> Option<&(usize, Arc<Hosts>)> {
        self.hosts.as_ref()
    }

    pub(super) fn set_hosts(&mut self, key: usize, hosts: Arc<Hosts>) {
        self.hosts = Some((key, hosts));
    }

    /// Lets MPI deliver what others wait for while this rank waits for a word in memory.
    pub(super) fn progress(&mut self) -> Result<()> {
        self.transport.progress()
    }

    /// Waits for a word in shared memory to change, or for a while.
    pub(super) async fn watch(&mut self, watch: Watch) {
        self.waiting.watch(Some(watch));
        pause().await;
        self.waiting.watch(None);
    }

    /// A further context over the same ranks. Collective.
    ///
    /// # Errors
    /// The fabric's.
    pub fn duplicate(&mut self) -> Result<Self> {
        Ok(Self { agreements: self.agreements.clone(), ..Self::new(self.transport.duplicate()?) })
    }

    /// By which algorithms the ranks agree from here on; none: the library's own. Equal on all ranks, which is the
    /// caller's duty.
    pub fn use_agreements(&mut self, agreements: Option<Arc<dyn Agreements>>) {
        self.agreements = agreements;
    }

    /// What [`Endpoint::use_agreements`] said.
    pub fn agreements(&self) -> Option<&dyn Agreements> {
        self.agreements.as_deref()
    }

    /// How this rank waits.
    pub fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Runs a schedule to its end and waits for it.
    ///
    /// # Errors
    /// The fabric's, or the memory's.
    pub fn run_and_wait(&mut self, schedule: Schedule, memory: &mut dyn Memory, tag: u16) -> Result<Traffic> {
        let waiting = self.waiting.clone();
        waiting.wait(pin!(self.run(schedule, memory, tag)))
    }

    /// Runs a schedule to its end. Its messages carry `tag` (below 2^13) and the operation's stage; two schedules that may
    /// be in flight on different ranks at once either carry different tags or meet in the same order everywhere.
    ///
    /// # Errors
    /// The fabric's, or the memory's: then operations may still be in flight, and the endpoint is of no more use.
    pub async fn run(&mut self, schedule: Schedule, memory: &mut dyn Memory, tag: u16) -> Result<Traffic> {
        let (open, held, in_flight, awaited, traffic) = Default::default();
        let mut run = Run { progress: Progress::new(schedule), open, held, in_flight, awaited, traffic, tag };
        let mut done = Vec::new();
        loop {
            if run.start_ready(&mut *self.transport, memory)? {
                self.waiting.event();
            }
            if run.progress.is_done() {
                return Ok(run.traffic);
            }
            self.transport.poll(&mut done)?;
            if done.is_empty()
                && self.waiting.may_block()
                && run.held.is_empty()
                && let Some(ticket) = run.awaited()
            {
                self.transport.wait(ticket, &mut done)?;
            }
            if done.is_empty() {
                match memory.watch().filter(|_| !run.held.is_empty()) {
                    // Messages must not wait for a word.
                    Some(watch) if !run.open.is_empty() => self.watch(watch.briefly()).await,
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

/// A schedule in flight.
struct Run {
    progress: Progress,
    open: HashMap<Ticket, OpId>,
    /// What the memory is not ready for, in the order it was asked.
    held: Vec<OpId>,
    /// The same the other way round as `open`, in the order of the schedule.
    in_flight: BTreeMap<OpId, Ticket>,
    /// What [`Run::awaited`] has found, until something happens.
    awaited: Option<Option<Ticket>>,
    traffic: Traffic,
    tag: u16,
}

impl Run {
    /// Starts all that can start; whether anything did that had been held.
    fn start_ready(&mut self, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<bool> {
        let mut any = false;
        for id in std::mem::take(&mut self.held) {
            any |= self.start_or_hold(id, transport, memory)?;
        }
        while let Some(id) = self.progress.next_ready() {
            self.start_or_hold(id, transport, memory)?;
        }
        Ok(any)
    }

    fn start_or_hold(&mut self, id: OpId, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<bool> {
        let ready = memory.is_ready(&self.progress.schedule().ops()[id as usize]);
        match ready {
            true => self.start(id, transport, memory)?,
            false => self.held.push(id),
        }
        Ok(ready)
    }

    fn start(&mut self, id: OpId, transport: &mut dyn Transport, memory: &mut dyn Memory) -> Result<()> {
        let op = self.progress.schedule().ops()[id as usize];
        let tag = self.tag * 4 + u16::from(op.stage);
        let ticket = match op.action {
            Action::Send { to, mode } => {
                let message = memory.read(op.span)?;
                self.traffic += Traffic { messages: 1, bytes: message.len() as u64 };
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
        self.open.insert(ticket, id);
        self.in_flight.insert(id, ticket);
        Ok(())
    }

    /// The message that may be waited for alone, once all that is ready has been started.
    fn awaited(&mut self) -> Option<Ticket> {
        let Self { progress, in_flight, awaited, .. } = self;
        *awaited.get_or_insert_with(|| {
            progress.awaited(in_flight.keys().copied()).and_then(|id| in_flight.get(&id).copied())
        })
    }

    fn complete(&mut self, completion: Completion, memory: &mut dyn Memory) -> Result<()> {
        self.awaited = None;
        let id = self.open.remove(&completion.ticket).ok_or_else(|| Error::Fabric("an unknown completion".into()))?;
        self.in_flight.remove(&id);
        let op = self.progress.schedule().ops()[id as usize];
        if let (Action::Receive { from }, Some(message)) = (op.action, completion.message) {
            memory.write(from, op.span, message)?;
        }
        self.progress.finish(id);
        Ok(())
    }
}

/// Checks that a message is as long as its span, where both sides know how long it is.
///
/// # Errors
/// A message that is not what was announced: no other rank knows of it.
pub fn check_whole(from: Rank, span: Span, message: &Message) -> Result<()> {
    if message.len() as u64 == span.len {
        return Ok(());
    }
    Err(Error::Fabric(format!("{} bytes came from rank {from} where {} were due", message.len(), span.len)))
}
