//! Messages in virtual time: they arrive when [`Links`] say, in an order that is kept between two ranks only.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tributary::world::World;
use tributary::{Completion, Error, Idle, Message, Rank, Result, SendMode, Stop, Ticket, Transport};

use super::Place;
use super::tasks::Tasks;

/// The messages of a run.
pub trait Messaging {
    /// Returns the transport of a rank in a context of its own. Collective.
    fn join(self: Arc<Self>, rank: Rank) -> Box<dyn Transport>;

    /// Returns the error with which a rank has stopped all.
    fn stopped(&self) -> Option<Error>;

    /// Drops all messages. Returns the number of those that nobody has received.
    fn forget(&self) -> usize;
}

/// When messages arrive: a network in virtual time.
pub trait Links {
    /// Returns the time at which a message that is sent now arrives, in nanoseconds. `random` returns a number below its argument
    /// that follows from the seed. Messages between two ranks arrive in order all the same: a time before that of an earlier one counts
    /// as just behind it.
    fn arrival(&mut self, sent: Sent, random: &dyn Fn(u64) -> u64) -> u64;
}

/// A message that is sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Rank that sends it.
    pub from: Rank,
    /// Rank that receives it.
    pub to: Rank,
    /// Its size.
    pub bytes: u64,
    /// The time, in nanoseconds.
    pub now: u64,
}

/// A network in which messages do not wait for each other: a latency that the seed decides, up to `latency` nanoseconds, and `rate`
/// bytes a second.
#[derive(Debug, Clone, Copy)]
pub struct SimpleLinks {
    pub latency: u64,
    pub rate: u64,
}

impl Links for SimpleLinks {
    fn arrival(&mut self, sent: Sent, random: &dyn Fn(u64) -> u64) -> u64 {
        sent.now + random(self.latency + 1) + sent.bytes * 1_000_000_000 / self.rate.max(1)
    }
}

/// The messages of a run.
pub struct Network {
    tasks: Arc<Tasks>,
    hosts: Vec<usize>,
    shares_memory: bool,
    links: Mutex<Box<dyn Links + Send>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Mailbox of each (context, rank): in an order, in which all of them are woken.
    mailboxes: BTreeMap<(usize, Rank), Arc<Mailbox>>,
    /// Time at which the last message of each (context, sender, receiver) arrives.
    last: HashMap<(usize, Rank, Rank), u64>,
    /// Number of contexts that each rank has entered by [`Network::join`].
    joined: HashMap<Rank, usize>,
    /// Error of a rank that has stopped all.
    stopped: Option<Error>,
}

/// What is on its way to a rank, and the wait of the rank.
#[derive(Default)]
struct Mailbox {
    arriving: Mutex<VecDeque<(u64, Envelope)>>,
    is_woken: AtomicBool,
}

enum Envelope {
    Body { from: Rank, tag: u16, message: Message, acknowledge: Option<Ticket> },
    Matched { ticket: Ticket },
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailbox {
    fn has_arrived(&self, now: u64) -> bool {
        lock(&self.arriving).iter().any(|(time, _)| *time <= now)
    }
}

impl Network {
    /// Returns the network of a place, in which messages arrive when `links` say.
    pub fn new(tasks: Arc<Tasks>, place: &Place, links: Box<dyn Links + Send>) -> Self {
        let (hosts, shares_memory) = (place.hosts.clone(), place.shares_memory);
        Self { tasks, hosts, shares_memory, links: Mutex::new(links), state: Mutex::default() }
    }

    fn enter(self: &Arc<Self>, rank: Rank, context: usize) -> Messages {
        Messages {
            network: self.clone(),
            rank,
            context,
            mailbox: self.mailbox(context, rank),
            posted: HashMap::new(),
            unexpected: HashMap::new(),
            done: Vec::new(),
            next_ticket: 0,
            duplicates: AtomicUsize::new(0),
        }
    }

    fn mailbox(&self, context: usize, rank: Rank) -> Arc<Mailbox> {
        lock(&self.state).mailboxes.entry((context, rank)).or_default().clone()
    }

    fn send(&self, context: usize, from: Rank, to: Rank, bytes: usize, envelope: Envelope) {
        let mailbox = self.mailbox(context, to);
        let sent = Sent { from, to, bytes: bytes as u64, now: self.tasks.nanos() };
        let time = lock(&self.links).arrival(sent, &|limit| self.tasks.random(limit));
        let mut state = lock(&self.state);
        let last = state.last.entry((context, from, to)).or_default();
        let time = time.max(*last + 1);
        *last = time;
        drop(state);
        lock(&mailbox.arriving).push_back((time, envelope));
        self.tasks.event();
        self.tasks.message_at(time, to);
    }

    /// Makes every rank's next call of a transport fail.
    fn stop(&self, why: &Error) {
        let mut state = lock(&self.state);
        state.stopped.get_or_insert_with(|| why.clone());
        drop(state);
        (0..self.hosts.len()).for_each(|rank| self.tasks.wake_rank(rank));
    }

    fn progress(&self) -> Result<()> {
        lock(&self.state).stopped.clone().map_or(Ok(()), Err)
    }
}

impl Messaging for Network {
    fn join(self: Arc<Self>, rank: Rank) -> Box<dyn Transport> {
        let context = {
            let mut state = lock(&self.state);
            let joined = state.joined.entry(rank).or_default();
            *joined += 1;
            // Contexts of duplicates have other numbers.
            *joined << 16
        };
        Box::new(self.enter(rank, context))
    }

    fn stopped(&self) -> Option<Error> {
        lock(&self.state).stopped.clone()
    }

    fn forget(&self) -> usize {
        let state = std::mem::take(&mut *lock(&self.state));
        state.mailboxes.values().map(|mailbox| lock(&mailbox.arriving).len()).sum()
    }
}

/// Queues of messages or receives by (sender, tag), oldest first.
type Queues<T> = HashMap<(Rank, u16), VecDeque<T>>;

/// One rank's transport in a context.
pub struct Messages {
    network: Arc<Network>,
    rank: Rank,
    context: usize,
    mailbox: Arc<Mailbox>,
    /// Ticket and capacity of each receive.
    posted: Queues<(Ticket, u64)>,
    unexpected: Queues<(Message, Option<Ticket>)>,
    done: Vec<Completion>,
    next_ticket: Ticket,
    duplicates: AtomicUsize,
}

impl Messages {
    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn matched(
        &mut self,
        from: Rank,
        (ticket, capacity): (Ticket, u64),
        message: Message,
        acknowledge: Option<Ticket>,
    ) -> Result<()> {
        if message.len() as u64 > capacity {
            return Err(Error::fabric(format!("{} bytes arrived for a receive of {capacity}", message.len())));
        }
        self.done.push(Completion { ticket, message: Some(message) });
        if let Some(ticket) = acknowledge {
            self.network.send(self.context, self.rank, from, 0, Envelope::Matched { ticket });
        }
        Ok(())
    }
}

impl Transport for Messages {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.network.hosts.len()
    }

    fn node_label(&self) -> usize {
        self.network.hosts[self.rank]
    }

    fn shares_memory(&self) -> bool {
        self.network.shares_memory
    }

    fn progress(&mut self) -> Result<()> {
        self.network.progress()
    }

    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        let ticket = self.ticket();
        let acknowledge = (mode == SendMode::Synchronous).then_some(ticket);
        // A body of its own, as on a real network: the sender may change its memory when the send is complete.
        let (len, message) = (message.len(), Message::copy_from_slice(&message));
        self.network.send(
            self.context,
            self.rank,
            to,
            len,
            Envelope::Body { from: self.rank, tag, message, acknowledge },
        );
        if acknowledge.is_none() {
            self.done.push(Completion { ticket, message: None });
        }
        Ok(ticket)
    }

    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket> {
        let ticket = self.ticket();
        match self.unexpected.get_mut(&(from, tag)).and_then(VecDeque::pop_front) {
            Some((message, acknowledge)) => self.matched(from, (ticket, capacity), message, acknowledge)?,
            None => self.posted.entry((from, tag)).or_default().push_back((ticket, capacity)),
        }
        Ok(ticket)
    }

    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        let now = self.network.tasks.nanos();
        loop {
            let next = {
                let mut arriving = lock(&self.mailbox.arriving);
                let at = arriving.iter().position(|(time, _)| *time <= now);
                at.and_then(|at| arriving.remove(at))
            };
            match next {
                None => break,
                Some((_, Envelope::Matched { ticket })) => self.done.push(Completion { ticket, message: None }),
                Some((_, Envelope::Body { from, tag, message, acknowledge })) => {
                    match self.posted.get_mut(&(from, tag)).and_then(VecDeque::pop_front) {
                        Some(receive) => self.matched(from, receive, message, acknowledge)?,
                        None => self.unexpected.entry((from, tag)).or_default().push_back((message, acknowledge)),
                    }
                }
            }
        }
        done.append(&mut self.done);
        self.network.progress()
    }

    fn idle(&self) -> Arc<dyn Idle> {
        Arc::new(Waiting { network: self.network.clone(), rank: self.rank, mailbox: self.mailbox.clone() })
    }

    fn stop(&self) -> Stop {
        let network = self.network.clone();
        Box::new(move |why| network.stop(why))
    }

    fn duplicate(&mut self) -> Result<Box<dyn Transport>> {
        let number = self.duplicates.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(self.network.enter(self.rank, self.context * 64 + 1 + number)))
    }
}

/// The wait of a rank: until a message arrives, or a task wakes it, however long that takes.
struct Waiting {
    network: Arc<Network>,
    rank: Rank,
    mailbox: Arc<Mailbox>,
}

impl Idle for Waiting {
    fn idle(&self, rounds: u32) {
        let tasks = &self.network.tasks;
        // Messages that have arrived may be for a call that the rank does not poll now.
        if self.mailbox.has_arrived(tasks.nanos()) || self.network.progress().is_err() {
            tasks.block(0, Some(Duration::from_micros(1 << rounds.min(10))));
        } else if !self.mailbox.is_woken.load(Ordering::Relaxed) {
            tasks.await_message(self.rank, None);
        }
        self.mailbox.is_woken.store(false, Ordering::Relaxed);
    }

    fn wake(&self) {
        self.mailbox.is_woken.store(true, Ordering::Relaxed);
        self.network.tasks.wake_rank(self.rank);
    }
}
