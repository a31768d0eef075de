//! One rank's end of an MPI communicator: posts, polls, and cuts long messages into MPI messages.
//!
//! **Long messages.** An MPI message has at most 2^31 - 1 bytes, and its receiver knows a capacity, not a length. A body
//! travels in chunks of `chunk` bytes (the same on all ranks), and *a full chunk is always followed by another; a
//! shorter one, perhaps empty, is the last*. So a body below `chunk` bytes is one MPI message, and one of exactly
//! `k * chunk` bytes ends with an empty message. The sender posts all chunks at once; the receiver posts the first
//! receive at once and each further one when the chunk before it came in full.
//!
//! First chunks travel under the message's tag, all others under `tag + 2^15`. So the receives posted for the *next*
//! messages of the same sender and tag cannot catch a chunk of this one. The further chunks of all messages of one
//! sender and tag form one MPI-ordered stream, which the receiver takes in the order in which the messages were posted:
//! only the head of a *lane* (the long receives of one sender and tag) has a further receive posted. A receive whose
//! capacity is below `chunk` can never see a full chunk (MPI reports the truncation), so it needs no lane.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use super::flight::{Flight, Incoming};
use super::idle::Backoff;
use super::raw::{Comm, check_with, is_finalised};
use super::requests::{Finished, Requests};
use super::{MPI_Comm, Session, sleeping};
use crate::error::{Error, Result};
use crate::fabric::shared::host;
use crate::fabric::{Completion, Idle, Message, Stop, Ticket, Transport};
use crate::schedule::SendMode;
use crate::topology::Rank;

/// The longest MPI message that is sent, in bytes, unless the constructor says otherwise: 1 GiB.
pub const DEFAULT_CHUNK: usize = 1 << 30;

/// Tags of the trait are below this; the chunks after the first add it.
const TAGS: c_int = 1 << 15;

/// One rank's end of a communicator of its own. Belongs to the thread that made it, which must be one that may call MPI.
///
/// Dropping it with messages in flight is safe and never waits: receives are cancelled, bodies that the network may still
/// touch are leaked, and so is the communicator, lest its stray messages turn up in the next one. (MPI libraries have some
/// thousands of communicators.) A send that nobody receives may still hold up MPI_Finalize.
pub struct MpiEndpoint {
    comm: Comm,
    chunk: usize,
    requests: Requests,
    finished: Vec<Finished>,
    flights: HashMap<Ticket, Flight>,
    lanes: HashMap<(Rank, u16), VecDeque<Ticket>>,
    next: Ticket,
    failed: Option<Error>,
    idle: Arc<Backoff>,
    /// MPI is not finalised before this endpoint is gone. After `comm`: dropped in this order.
    session: Option<Rc<Session>>,
}

impl MpiEndpoint {
    /// An endpoint on a duplicate of `comm`; `comm` itself stays untouched. Collective over its ranks: one
    /// MPI_Comm_dup.
    ///
    /// The duplicate is freed when the endpoint is dropped. If MPI is finalised first, every later call on the endpoint
    /// is an error, and dropping it frees nothing.
    ///
    /// # Errors
    /// [`Error::Fabric`] in MPI's words, where the error handler of `comm` lets it return.
    ///
    /// # Safety
    /// MPI is initialised. `comm` is a valid intracommunicator. The thread is one that may call MPI.
    pub unsafe fn from_raw(comm: MPI_Comm) -> Result<Self> {
        // SAFETY: the caller's promise is the same.
        unsafe { Self::from_raw_with_chunk(comm, DEFAULT_CHUNK) }
    }

    /// As [`MpiEndpoint::from_raw`], with MPI messages of at most `chunk` bytes, `1..=2^31 - 1`, the same on all ranks.
    ///
    /// # Errors
    /// A chunk out of range, and those of [`MpiEndpoint::from_raw`].
    ///
    /// # Safety
    /// That of [`MpiEndpoint::from_raw`].
    pub unsafe fn from_raw_with_chunk(comm: MPI_Comm, chunk: usize) -> Result<Self> {
        if chunk == 0 || c_int::try_from(chunk).is_err() {
            return Err(Error::argument("MPI chunk in bytes", chunk, format!("1 to {}", c_int::MAX)));
        }
        // SAFETY: the caller's promise.
        let comm = unsafe { Comm::duplicate_of(comm)? };
        Ok(Self::over(comm, chunk, None))
    }

    /// As [`MpiEndpoint::from_raw`], without waiting for other ranks: the endpoint is there when the future is done. MPI is
    /// called at once, so calls on several communicators come in the order of the program. Collective over the ranks of
    /// `comm`: one MPI_Comm_idup.
    ///
    /// # Errors
    /// Those of [`MpiEndpoint::from_raw`].
    ///
    /// # Safety
    /// That of [`MpiEndpoint::from_raw`]; `comm` lives until the future is done.
    pub unsafe fn start_from_raw(comm: MPI_Comm) -> Result<impl Future<Output = Result<Self>>> {
        // SAFETY: the caller's promise.
        let mut duplicating = unsafe { Comm::start_duplicate_of(comm)? };
        Ok(std::future::poll_fn(move |_| match duplicating.test() {
            Ok(None) => Poll::Pending,
            Ok(Some(comm)) => Poll::Ready(Ok(Self::over(comm, DEFAULT_CHUNK, None))),
            Err(error) => Poll::Ready(Err(error)),
        }))
    }

    /// Keeps MPI from being finalised as long as the endpoint lives.
    pub(super) fn holding(mut self, session: Rc<Session>) -> Self {
        self.session = Some(session);
        self
    }

    pub(super) fn over(comm: Comm, chunk: usize, session: Option<Rc<Session>>) -> Self {
        Self {
            comm,
            chunk,
            requests: Requests::default(),
            finished: Vec::new(),
            flights: HashMap::new(),
            lanes: HashMap::new(),
            next: 0,
            failed: None,
            idle: Arc::new(Backoff::new()),
            session,
        }
    }

    /// Whether the endpoint can still be used: nothing has failed before, and MPI is there.
    fn usable(&self) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        // Who initialised MPI may finalise it while the endpoint lives; a session of our own does not.
        if !self.session.as_ref().is_some_and(|session| session.ours) && is_finalised() {
            return Err(Error::Fabric("MPI was finalised before the last call on a communicator's file".to_string()));
        }
        Ok(())
    }

    /// Remembers the first failure: after it the communicator's messages no longer match, so nothing more is tried.
    fn remember<T>(&mut self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn accept(&self, peer: Rank, tag: u16) -> Result<()> {
        if peer >= self.comm.ranks {
            return Err(Error::argument("rank of the peer", peer, format!("0 to {}", self.comm.ranks - 1)));
        }
        if c_int::from(tag) >= TAGS {
            return Err(Error::argument("message tag", tag, format!("0 to {}", TAGS - 1)));
        }
        Ok(())
    }

    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        self.next
    }

    /// The tag of a message's chunks after the first.
    fn further_tag(&self, tag: u16) -> Result<c_int> {
        let further = c_int::from(tag) + TAGS;
        if further > self.comm.highest_tag {
            let what = format!("tag {further} of a message over {} bytes", self.chunk);
            return Err(Error::Fabric(format!("{what} is above this MPI's highest tag, {}", self.comm.highest_tag)));
        }
        Ok(further)
    }

    /// Posts all chunks of a body that is already among the flights, where it stays put until they are taken.
    fn post_send(&mut self, ticket: Ticket, to: Rank, tag: u16, mode: SendMode, body: &Message) -> Result<()> {
        let mut mpi_tag = c_int::from(tag);
        for number in 0..=body.len() / self.chunk {
            let from = number * self.chunk;
            let chunk = &body[from..body.len().min(from + self.chunk)];
            if number == 1 {
                mpi_tag = self.further_tag(tag)?;
            }
            // SAFETY: a clone of `body` is among the flights until every chunk has ended, or leaked.
            let request = unsafe { self.comm.send(chunk, to, mpi_tag, mode)? };
            self.requests.push(request, ticket);
        }
        Ok(())
    }

    /// Posts the receive of the next chunk of `ticket`, if it waits for one and its turn has come.
    fn post_further(&mut self, key: (Rank, u16), ticket: Ticket) -> Result<()> {
        let is_head = self.lanes.get(&key).and_then(VecDeque::front) == Some(&ticket);
        let further_tag = self.further_tag(key.1);
        if let Some(Flight::Receive(incoming)) = self.flights.get_mut(&ticket)
            && is_head
            && incoming.waiting
        {
            incoming.waiting = false;
            let request = incoming.post(&self.comm, self.chunk, further_tag?)?;
            self.requests.push(request, ticket);
        }
        Ok(())
    }

    /// Takes note of one ended MPI message.
    fn take(&mut self, ended: &Finished, done: &mut Vec<Completion>) -> Result<()> {
        let ticket = ended.ticket;
        let Some(flight) = self.flights.get_mut(&ticket) else {
            return Err(Error::Internal { rank: self.comm.rank, what: format!("no message has ticket {ticket}") });
        };
        match flight {
            Flight::Send { to, tag, chunks, .. } => {
                check_with(|| format!("send to rank {to} with tag {tag}"), ended.code)?;
                *chunks -= 1;
                if *chunks == 0 {
                    self.flights.remove(&ticket);
                    done.push(Completion { ticket, message: None });
                }
                Ok(())
            }
            Flight::Receive(incoming) => {
                let key = (incoming.from, incoming.tag);
                check_with(|| incoming.name(), ended.code)?;
                let bytes = ended.bytes()?;
                incoming.grow(bytes);
                if bytes == self.chunk {
                    incoming.waiting = true;
                    return self.post_further(key, ticket);
                }
                self.deliver(key, ticket, done)
            }
        }
    }

    /// Hands a complete message over; the next in its lane may go on.
    fn deliver(&mut self, key: (Rank, u16), ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        let Some(Flight::Receive(incoming)) = self.flights.remove(&ticket) else { return Ok(()) };
        done.push(Completion { ticket, message: Some(incoming.body.into_message()) });
        if incoming.capacity < self.chunk {
            return Ok(());
        }
        let Some(lane) = self.lanes.get_mut(&key) else { return Ok(()) };
        lane.retain(|&other| other != ticket);
        match lane.front().copied() {
            Some(head) => self.post_further(key, head),
            None => {
                self.lanes.remove(&key);
                Ok(())
            }
        }
    }

    fn advance(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        let mut finished = std::mem::take(&mut self.finished);
        self.requests.test_some(&mut finished)?;
        for ended in finished.drain(..) {
            self.take(&ended, done)?;
        }
        self.finished = finished;
        Ok(())
    }

    fn wait_for(&mut self, ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        let mut finished = std::mem::take(&mut self.finished);
        self.requests.wait(ticket, &mut finished);
        for ended in finished.drain(..) {
            self.take(&ended, done)?;
        }
        self.finished = finished;
        Ok(())
    }

    fn start_receive(&mut self, ticket: Ticket, mut incoming: Incoming) -> Result<()> {
        let key = (incoming.from, incoming.tag);
        let request = incoming.post(&self.comm, self.chunk, c_int::from(key.1))?;
        if incoming.capacity >= self.chunk {
            self.lanes.entry(key).or_default().push_back(ticket);
        }
        self.flights.insert(ticket, Flight::Receive(incoming));
        self.requests.push(request, ticket);
        Ok(())
    }
}

impl Transport for MpiEndpoint {
    fn rank(&self) -> Rank {
        self.comm.rank
    }

    fn ranks(&self) -> usize {
        self.comm.ranks
    }

    fn node_label(&self) -> usize {
        host::label() as usize
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn progress(&mut self) -> Result<()> {
        self.usable()?;
        let outcome = self.comm.progress();
        self.remember(outcome)
    }

    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        self.usable()?;
        self.accept(to, tag)?;
        let ticket = self.ticket();
        let chunks = message.len() / self.chunk + 1;
        self.flights.insert(ticket, Flight::Send { to, tag, body: message.clone(), chunks });
        let outcome = self.post_send(ticket, to, tag, mode, &message);
        self.remember(outcome)?;
        Ok(ticket)
    }

    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket> {
        self.usable()?;
        self.accept(from, tag)?;
        let incoming = Incoming::new(from, tag, capacity)?;
        let ticket = self.ticket();
        let outcome = self.start_receive(ticket, incoming);
        self.remember(outcome)?;
        Ok(ticket)
    }

    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        self.usable()?;
        let outcome = self.advance(done);
        self.remember(outcome)
    }

    fn wait(&mut self, ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        self.usable()?;
        // The next chunk of a long message is posted when the one before has come, for which the rank must look.
        if !self.lanes.is_empty() || sleeping::never() {
            return Ok(());
        }
        let outcome = self.wait_for(ticket, done);
        self.remember(outcome)
    }

    fn idle(&self) -> Arc<dyn Idle> {
        self.idle.clone()
    }

    fn stop(&self) -> Stop {
        Box::new(super::end_job)
    }

    fn duplicate(&mut self) -> Result<Box<dyn Transport>> {
        self.usable()?;
        let comm = self.comm.duplicate()?;
        Ok(Box::new(Self::over(comm, self.chunk, self.session.clone())))
    }
}

impl Drop for MpiEndpoint {
    fn drop(&mut self) {
        let flights = std::mem::take(&mut self.flights);
        self.comm.is_quiet = self.failed.is_none() && flights.is_empty();
        if std::thread::panicking() || is_finalised() {
            // MPI must not be called any more, and may still touch every body.
            std::mem::forget(flights);
            return;
        }
        let touched = self.requests.abandon(|ticket| matches!(flights.get(&ticket), Some(Flight::Receive(_))));
        for (ticket, flight) in flights {
            if touched.contains(&ticket) {
                std::mem::forget(flight);
            }
        }
    }
}
