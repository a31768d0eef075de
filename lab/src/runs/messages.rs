//! The messages of ranks on the simulator's network.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tributary::error::{Error, Result};
use tributary::topology::{Rank, Topology};
use tributary::world::{Work, World};
use tributary::{Completion, Idle, Message, SendMode, Stop, Ticket, Transport};
use tributary_testing::virtual_time::network::Messaging;
use tributary_testing::virtual_time::tasks::{Happenings, Tasks};

use crate::sim::Machine;
use crate::sim::posted::{Operation, PostedNetwork};

/// The messages of a run.
pub struct PostedMessages {
    tasks: Arc<Tasks>,
    hosts: Vec<usize>,
    zeros: Message,
    shared: Arc<Mutex<Shared>>,
}

/// Maximum length in bytes of a message of zeros that has no memory of its own.
const ZEROS: usize = 64 << 20;

struct Shared {
    network: PostedNetwork,
    /// The bytes of messages that are not received.
    bodies: HashMap<(Rank, Operation), Message>,
    /// Numbers of tags in contexts.
    tags: HashMap<(usize, u16), u32>,
    /// Context, and capacity, of operations that have not finished.
    posted: HashMap<(Rank, Operation), (usize, u64)>,
    /// Operations of each rank that have finished, with their contexts, which the rank has not seen.
    done: Vec<Vec<(usize, Completion)>>,
    /// Number of contexts that each rank has entered.
    joined: Vec<usize>,
    /// Ranks that events have concerned.
    touched: Vec<Rank>,
    stopped: Option<Error>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PostedMessages {
    /// Returns the messages of a run whose tasks are `tasks`.
    pub fn new(tasks: Arc<Tasks>, machine: &Machine, topology: &Topology, seed: u64) -> Self {
        let ranks = topology.ranks();
        let shared = Arc::new(Mutex::new(Shared {
            network: PostedNetwork::new(machine, topology, seed),
            bodies: HashMap::new(),
            tags: HashMap::new(),
            posted: HashMap::new(),
            done: (0..ranks).map(|_| Vec::new()).collect(),
            joined: vec![0; ranks],
            touched: Vec::new(),
            stopped: None,
        }));
        tasks.set_beside(shared.clone());
        let zeros = Message::from(vec![0; ZEROS]);
        Self { tasks, hosts: (0..ranks).map(|rank| topology.node_of(rank)).collect(), zeros, shared }
    }

    /// Returns the number of messages, and of bytes between hosts.
    pub fn counted(&self) -> (u64, u64) {
        lock(&self.shared).network.counted()
    }

    /// Returns a message with bytes of its own: the sender may change its memory when the send is complete. Bytes of data are zeros
    /// ([`super::Run::of`]), which all messages share.
    fn kept(&self, message: &Message) -> Message {
        let is_zero = message.len() <= self.zeros.len() && message[..] == self.zeros[..message.len()];
        if is_zero { self.zeros.slice(..message.len()) } else { Message::copy_from_slice(message) }
    }

    fn enter(self: &Arc<Self>, rank: Rank, context: usize) -> RankMessages {
        RankMessages { all: self.clone(), rank, context, duplicates: AtomicUsize::new(0) }
    }
}

impl Messaging for PostedMessages {
    fn join(self: Arc<Self>, rank: Rank) -> Box<dyn Transport> {
        let context = {
            let joined = &mut lock(&self.shared).joined[rank];
            *joined += 1;
            // Contexts of duplicates have other numbers.
            *joined << 16
        };
        Box::new(self.enter(rank, context))
    }

    fn stopped(&self) -> Option<Error> {
        lock(&self.shared).stopped.clone()
    }

    fn forget(&self) -> usize {
        lock(&self.shared).bodies.drain().count()
    }
}

impl Shared {
    fn tag(&mut self, context: usize, tag: u16) -> u32 {
        let next = self.tags.len() as u32;
        *self.tags.entry((context, tag)).or_insert(next)
    }

    /// Hands out what has finished for a rank by `now`.
    fn hand_out(&mut self, rank: Rank, now: u64) -> Result<()> {
        while let Some(finished) = self.network.finished(rank, now) {
            let Some((context, capacity)) = self.posted.remove(&(rank, finished.operation)) else { continue };
            let message = finished.message.and_then(|of| self.bodies.remove(&of));
            if let Some(long) = message.as_ref().filter(|message| message.len() as u64 > capacity) {
                return Err(Error::fabric(format!("{} bytes arrived for a receive of {capacity}", long.len())));
            }
            let ticket = Ticket::from(finished.operation);
            self.done[rank].push((context, Completion { ticket, message }));
        }
        Ok(())
    }
}

impl Happenings for Shared {
    fn next(&mut self) -> Option<u64> {
        self.network.next_event()
    }

    fn happen(&mut self, arrived: &mut Vec<(u64, usize)>) {
        let Some(now) = self.network.next_event() else { return };
        let Self { network, touched, .. } = self;
        network.happen(now, |rank| touched.push(rank));
        touched.sort_unstable();
        touched.dedup();
        for rank in std::mem::take(&mut self.touched) {
            if let Some(time) = self.network.first_finished(rank) {
                arrived.push((time, rank));
            }
        }
    }

    fn work(&mut self, rank: usize, is_rank: bool, from: u64, work: Work) -> u64 {
        self.network.work(is_rank.then_some(rank), work.extents, work.bytes, from)
    }
}

/// One rank's transport in a context.
struct RankMessages {
    all: Arc<PostedMessages>,
    rank: Rank,
    context: usize,
    duplicates: AtomicUsize,
}

impl RankMessages {
    fn post(&self, post: impl FnOnce(&mut Shared, u64) -> (Operation, u64)) -> Ticket {
        let mut shared = lock(&self.all.shared);
        let (operation, capacity) = post(&mut shared, self.all.tasks.nanos());
        shared.posted.insert((self.rank, operation), (self.context, capacity));
        let clock = shared.network.clock(self.rank);
        drop(shared);
        self.all.tasks.work_until(clock);
        self.all.tasks.event();
        operation.into()
    }

    fn check(&self) -> Result<()> {
        lock(&self.all.shared).stopped.clone().map_or(Ok(()), Err)
    }
}

impl Transport for RankMessages {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.all.hosts.len()
    }

    fn node_label(&self) -> usize {
        self.all.hosts[self.rank]
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn sends_in_place(&self) -> bool {
        true
    }

    fn progress(&mut self) -> Result<()> {
        self.check()
    }

    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        let (rank, context) = (self.rank, self.context);
        let body = self.all.kept(&message);
        Ok(self.post(|shared, now| {
            let tag = shared.tag(context, tag);
            let operation = shared.network.send(rank, (to, tag), mode, body.len() as u64, now);
            shared.bodies.insert((rank, operation), body);
            (operation, 0)
        }))
    }

    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket> {
        let (rank, context) = (self.rank, self.context);
        Ok(self.post(|shared, now| {
            let tag = shared.tag(context, tag);
            (shared.network.receive(rank, (from, tag), now), capacity)
        }))
    }

    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        let now = self.all.tasks.nanos();
        let mut shared = lock(&self.all.shared);
        shared.hand_out(self.rank, now)?;
        let of_context = |(context, _): &mut (usize, Completion)| *context == self.context;
        done.extend(shared.done[self.rank].extract_if(.., of_context).map(|(_, completion)| completion));
        shared.stopped.clone().map_or(Ok(()), Err)
    }

    fn idle(&self) -> Arc<dyn Idle> {
        Arc::new(Waiting { all: self.all.clone(), rank: self.rank, is_woken: AtomicBool::new(false) })
    }

    fn stop(&self) -> Stop {
        let all = self.all.clone();
        Box::new(move |why| {
            let mut shared = lock(&all.shared);
            shared.stopped.get_or_insert_with(|| why.clone());
            drop(shared);
            (0..all.hosts.len()).for_each(|rank| all.tasks.wake_rank(rank));
        })
    }

    fn duplicate(&mut self) -> Result<Box<dyn Transport>> {
        let number = self.duplicates.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(self.all.enter(self.rank, self.context * 64 + 1 + number)))
    }
}

/// The wait of a rank: until an operation has finished, or a task wakes it.
struct Waiting {
    all: Arc<PostedMessages>,
    rank: Rank,
    is_woken: AtomicBool,
}

impl Idle for Waiting {
    fn idle(&self, rounds: u32) {
        let tasks = &self.all.tasks;
        let now = tasks.nanos();
        let (is_due, first) = {
            let mut shared = lock(&self.all.shared);
            let first = shared.network.first_finished(self.rank);
            let is_handed_out = !shared.done[self.rank].is_empty();
            (shared.stopped.is_some() || is_handed_out || first.is_some_and(|time| time <= now), first)
        };
        if is_due {
            // What has finished may be for a call that the rank does not poll now.
            tasks.block(0, Some(Duration::from_micros(1 << rounds.min(10))));
        } else if !self.is_woken.load(Ordering::Relaxed) {
            tasks.await_message(self.rank, first.map(|time| Duration::from_nanos(time - now)));
        }
        self.is_woken.store(false, Ordering::Relaxed);
    }

    fn wake(&self) {
        self.is_woken.store(true, Ordering::Relaxed);
        self.all.tasks.wake_rank(self.rank);
    }
}
