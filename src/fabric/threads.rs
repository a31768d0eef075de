//! The fabric of threads: ranks are threads of one process. It needs no MPI and works for over a thousand ranks.
//!
//! Every rank has a mailbox per context. Only its owner matches messages with receives, so matching needs no lock.
//! Messages are moved, not copied. A rank with nothing to do parks.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::waiting::Stop;
use super::{Completion, Idle, Message, Ticket, Transport};
use crate::error::{Error, Result};
use crate::schedule::SendMode;
use crate::topology::Rank;
use crate::world::jobs::{self, Ended, Scoped};
use crate::world::waits::{self, Sleeper};

/// Maximum time that a rank is parked; it then checks whether another rank has died.
const LOOK_UP: Duration = Duration::from_millis(50);
const NOBODY: usize = usize::MAX;

/// Runs `program` on `ranks` ranks and returns the values that the ranks return, in rank order. If a rank panics, every
/// other rank's next call of the transport fails, so that no rank waits for the dead one; then this function panics
/// too.
///
/// # Errors
/// Zero ranks, or the system cannot start a thread.
pub fn run<T: Send>(ranks: usize, program: impl Fn(Box<dyn Transport>) -> T + Sync) -> Result<Vec<T>> {
    if ranks == 0 {
        return Err(Error::argument("ranks", 0, "1 or more"));
    }
    let world = Arc::new(ThreadWorld::new(ranks));
    let run_rank = |rank: Rank| {
        let _ = world.sleepers[rank].set(waits::this_thread());
        let outcome = catch_unwind(AssertUnwindSafe(|| program(Box::new(Threads::join(&world, rank, 0)))));
        if outcome.is_err() {
            world.stop(rank, || has_died(rank));
        }
        outcome
    };
    let outcomes: Vec<Result<Ended<T>>> = jobs::scope(|scope| {
        let mut threads = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            let thread = jobs::start_in(scope, format!("rank {rank}"), move || run_rank(rank));
            if thread.is_err() {
                world.stop(rank, || has_died(rank));
            }
            threads.push(thread);
        }
        let join = |(rank, thread): (Rank, std::io::Result<Scoped<'_, _>>)| match thread {
            Ok(thread) => Ok(thread.join().unwrap_or_else(Err)),
            Err(cause) => Err(Error::fabric(format!("no thread for rank {rank} of {ranks}: {cause}"))),
        };
        threads.into_iter().enumerate().map(join).collect()
    });
    let died = world.died.load(Ordering::SeqCst);
    let mut all = Vec::with_capacity(ranks);
    let mut panic: Option<Box<dyn Any + Send>> = None;
    for (rank, outcome) in outcomes.into_iter().enumerate() {
        match outcome? {
            Ok(value) => all.push(value),
            Err(payload) if rank == died || panic.is_none() => panic = Some(payload),
            Err(_) => {}
        }
    }
    panic.map_or(Ok(all), |payload| resume_unwind(payload))
}

/// State that all ranks of a run share.
struct ThreadWorld {
    ranks: usize,
    sleepers: Vec<OnceLock<Sleeper>>,
    contexts: Mutex<Vec<Context>>,
    /// Rank that panicked or stopped the others; [`NOBODY`] if none.
    died: AtomicUsize,
    /// Error that every other rank's next call returns.
    why: OnceLock<Error>,
}

/// The mailboxes of one context; each rank takes its own receiver.
struct Context {
    senders: Arc<[Sender<Envelope>]>,
    receivers: Vec<Option<Receiver<Envelope>>>,
}

enum Envelope {
    Body { from: Rank, tag: u16, message: Message, acknowledge: Option<Ticket> },
    Matched { ticket: Ticket },
}

impl ThreadWorld {
    fn new(ranks: usize) -> Self {
        let sleepers = (0..ranks).map(|_| OnceLock::new()).collect();
        let (contexts, died, why) = (Mutex::new(Vec::new()), AtomicUsize::new(NOBODY), OnceLock::new());
        Self { ranks, sleepers, contexts, died, why }
    }

    /// Makes every rank's next call of the transport fail with `why`, or with the error of an earlier call of this
    /// function.
    fn stop(&self, rank: Rank, why: impl FnOnce() -> Error) {
        self.why.get_or_init(why);
        self.died.store(rank, Ordering::SeqCst);
        self.sleepers.iter().filter_map(OnceLock::get).for_each(Sleeper::unpark);
    }

    /// Returns the senders and the receiver of `rank` in context `number`. The first rank to enter a context makes it.
    fn enter(&self, rank: Rank, number: usize) -> (Arc<[Sender<Envelope>]>, Option<Receiver<Envelope>>) {
        let mut contexts = self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        while contexts.len() <= number {
            let (senders, receivers): (Vec<_>, Vec<_>) = (0..self.ranks).map(|_| channel()).unzip();
            contexts.push(Context { senders: senders.into(), receivers: receivers.into_iter().map(Some).collect() });
        }
        let context = &mut contexts[number];
        (context.senders.clone(), context.receivers[rank].take())
    }
}

fn has_died(rank: Rank) -> Error {
    Error::fabric(format!("rank {rank} has died"))
}

/// Queues of messages or receives by (sender, tag), oldest first.
type Queues<T> = HashMap<(Rank, u16), VecDeque<T>>;
/// A posted receive: ticket, and capacity in bytes.
type Posted = (Ticket, u64);
/// A message that no receive has matched yet, and the ticket to acknowledge when one does.
type UnmatchedMessage = (Message, Option<Ticket>);

/// One rank's access to a context, whose messages match only among themselves.
pub struct Threads {
    world: Arc<ThreadWorld>,
    rank: Rank,
    senders: Arc<[Sender<Envelope>]>,
    mailbox: Option<Receiver<Envelope>>,
    posted: Queues<Posted>,
    unexpected: Queues<UnmatchedMessage>,
    done: Vec<Completion>,
    next_ticket: Ticket,
    /// Number of contexts that this rank has entered; all ranks enter them in the same order.
    duplicates: Arc<AtomicUsize>,
    /// Not `Send`: the rank must stay on its thread, which parks.
    stays: PhantomData<*const ()>,
}

impl Threads {
    fn join(world: &Arc<ThreadWorld>, rank: Rank, number: usize) -> Self {
        Self::enter(world, rank, number, Arc::new(AtomicUsize::new(1)))
    }

    fn enter(world: &Arc<ThreadWorld>, rank: Rank, number: usize, duplicates: Arc<AtomicUsize>) -> Self {
        let (senders, mailbox) = world.enter(rank, number);
        Self {
            world: world.clone(),
            rank,
            senders,
            mailbox,
            posted: HashMap::new(),
            unexpected: HashMap::new(),
            done: Vec::new(),
            next_ticket: 0,
            duplicates,
            stays: PhantomData,
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        self.next_ticket
    }

    /// Delivers an envelope and wakes its rank. Does nothing if the rank has left the context.
    fn post(&self, to: Rank, envelope: Envelope) {
        if self.senders[to].send(envelope).is_ok()
            && let Some(sleeper) = self.world.sleepers[to].get()
        {
            sleeper.unpark();
        }
    }

    /// Completes a message and its receive.
    fn matched(
        &mut self,
        from: Rank,
        (ticket, capacity): Posted,
        message: Message,
        acknowledge: Option<Ticket>,
    ) -> Result<()> {
        if message.len() as u64 > capacity {
            let sizes = format!("{} bytes arrived for a receive of {capacity}", message.len());
            return Err(Error::fabric(format!("rank {} from rank {from}: {sizes}", self.rank)));
        }
        self.done.push(Completion { ticket, message: Some(message) });
        if let Some(ticket) = acknowledge {
            self.post(from, Envelope::Matched { ticket });
        }
        Ok(())
    }
}

impl Transport for Threads {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.world.ranks
    }

    fn node_label(&self) -> usize {
        0
    }

    fn shares_memory(&self) -> bool {
        false
    }

    fn progress(&mut self) -> Result<()> {
        match self.world.died.load(Ordering::Relaxed) {
            NOBODY => Ok(()),
            rank => Err(self.world.why.get().cloned().unwrap_or_else(|| has_died(rank))),
        }
    }

    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        let ticket = self.ticket();
        let acknowledge = (mode == SendMode::Synchronous).then_some(ticket);
        self.post(to, Envelope::Body { from: self.rank, tag, message, acknowledge });
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
        while let Some(Ok(envelope)) = self.mailbox.as_ref().map(Receiver::try_recv) {
            match envelope {
                Envelope::Matched { ticket } => self.done.push(Completion { ticket, message: None }),
                Envelope::Body { from, tag, message, acknowledge } => {
                    match self.posted.get_mut(&(from, tag)).and_then(VecDeque::pop_front) {
                        Some(receive) => self.matched(from, receive, message, acknowledge)?,
                        None => self.unexpected.entry((from, tag)).or_default().push_back((message, acknowledge)),
                    }
                }
            }
        }
        done.append(&mut self.done);
        self.progress()
    }

    fn idle(&self) -> Arc<dyn Idle> {
        Arc::new(Parking { world: self.world.clone(), rank: self.rank })
    }

    fn stop(&self) -> Stop {
        let (world, rank) = (self.world.clone(), self.rank);
        Box::new(move |why| world.stop(rank, || why.clone()))
    }

    fn duplicate(&mut self) -> Result<Box<dyn Transport>> {
        let number = self.duplicates.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Self::enter(&self.world, self.rank, number, self.duplicates.clone())))
    }
}

/// Parks the rank's thread; any thread may unpark it. A wake before the park is not lost.
struct Parking {
    world: Arc<ThreadWorld>,
    rank: Rank,
}

impl Idle for Parking {
    fn idle(&self, _rounds: u32) {
        waits::park(Some(LOOK_UP));
    }

    fn wake(&self) {
        if let Some(sleeper) = self.world.sleepers[self.rank].get() {
            sleeper.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(transport: &mut Box<dyn Transport>, mut open: Vec<Ticket>) -> Vec<Option<Message>> {
        let idle = transport.idle();
        let mut bodies: HashMap<Ticket, Option<Message>> = HashMap::new();
        let mut done = Vec::new();
        while bodies.len() < open.len() {
            transport.poll(&mut done).unwrap();
            done.drain(..).for_each(|c| drop(bodies.insert(c.ticket, c.message)));
            if bodies.len() < open.len() {
                idle.idle(0);
            }
        }
        open.drain(..).map(|ticket| bodies.remove(&ticket).unwrap()).collect()
    }

    #[test]
    fn a_thousand_ranks_in_a_ring() {
        let got = run(1024, |mut transport| {
            let (me, all) = (transport.rank(), transport.ranks());
            let body = Message::from(me.to_le_bytes().to_vec());
            let open = vec![
                transport.send((me + 1) % all, 7, SendMode::Synchronous, body).unwrap(),
                transport.receive((me + all - 1) % all, 7, 8).unwrap(),
            ];
            let body = complete(&mut transport, open)[1].clone().unwrap();
            usize::from_le_bytes(body[..].try_into().unwrap())
        });
        assert_eq!(got.unwrap(), (0..1024).map(|me| (me + 1023) % 1024).collect::<Vec<_>>());
    }

    #[test]
    fn a_synchronous_send_waits_for_its_receive_and_contexts_do_not_mix() {
        run(2, |mut first| {
            let mut second = first.duplicate().unwrap();
            if first.rank() == 0 {
                let open = first.send(1, 0, SendMode::Synchronous, Message::from_static(b"one")).unwrap();
                let mut done = Vec::new();
                first.poll(&mut done).unwrap();
                assert!(done.is_empty(), "not matched yet: rank 1 waits for the second context first");
                let two = second.send(1, 0, SendMode::Standard, Message::from_static(b"two")).unwrap();
                complete(&mut second, vec![two]);
                complete(&mut first, vec![open]);
            } else {
                let two = second.receive(0, 0, 3).unwrap();
                assert_eq!(complete(&mut second, vec![two])[0].as_deref(), Some(&b"two"[..]));
                let one = first.receive(0, 0, 9).unwrap();
                assert_eq!(complete(&mut first, vec![one])[0].as_deref(), Some(&b"one"[..]));
            }
        })
        .unwrap();
    }

    #[test]
    fn too_long_a_message_and_a_dead_rank_are_errors() {
        let outcomes = run(2, |mut transport| -> Result<()> {
            if transport.rank() == 0 {
                transport.send(1, 0, SendMode::Standard, Message::from_static(b"long")).unwrap();
                return Ok(());
            }
            transport.receive(0, 0, 3)?;
            loop {
                transport.poll(&mut Vec::new())?;
            }
        });
        assert!(outcomes.unwrap()[1].is_err());
        let survivors = Mutex::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(3, |mut transport| {
                assert_ne!(transport.rank(), 1, "rank 1 dies");
                let idle = transport.idle();
                while transport.poll(&mut Vec::new()).is_ok() {
                    idle.idle(0);
                }
                *survivors.lock().unwrap() += 1;
            })
        }));
        assert!(outcome.is_err());
        assert_eq!(*survivors.lock().unwrap(), 2);
    }
}
