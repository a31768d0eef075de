//! One rank's access to an MPI communicator: posts and polls messages, and splits long messages into MPI messages.
//!
//! **Long messages.** An MPI message has at most 2^31 - 1 bytes, and its receiver knows a capacity but not the length.
//! A message is sent in chunks of `chunk` bytes (the same on all ranks): *a full chunk is always followed by another; a
//! shorter one, perhaps empty, is the last*. So a message below `chunk` bytes is one MPI message, and one of exactly
//! `k * chunk` bytes ends with an empty chunk. The sender posts all chunks at once. The receiver posts the first
//! receive at once, and each further one when the chunk before has arrived in full.
//!
//! First chunks have the tag of the message; all other chunks have that tag plus 2^15 ([`Tags`]). So a receive posted for the
//! *next* message of the same sender and tag cannot match a chunk of this one. A *stream* is the list of long receives of one
//! sender and tag, in the order in which they were posted. MPI keeps the further chunks of one sender and tag in the same
//! order. So only the first receive of a stream has a further chunk's receive posted. A receive with a capacity below `chunk`
//! never gets a full chunk (MPI reports the truncation), so it needs no stream.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use tributary_abi::{self as ffi, HandleArray, MPI_Status, Statuses, constants, handles};

use super::idle::{self, Backoff};
use super::raw::{Comm, Request, check, check_with, is_finalised, status_ignore};
use super::{MPI_Comm, Session};
use crate::error::{Error, Result};
use crate::fabric::pool::Block;
use crate::fabric::shared::host;
use crate::fabric::{Completion, Idle, Message, Stop, Ticket, Transport};
use crate::schedule::SendMode;
use crate::topology::Rank;
use crate::world::jobs;

/// Default maximum length of an MPI message, in bytes: 1 GiB.
pub const DEFAULT_CHUNK: usize = 1 << 30;

/// The range of MPI tags that an endpoint uses in its communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tags {
    /// MPI tag of messages with tag 0.
    pub(super) first: c_int,
    /// Number of tags. A message's tag is below it; chunks after the first add it to the message's tag.
    pub(super) count: c_int,
}

impl Tags {
    /// Tags of an endpoint that has a communicator for itself.
    const ALL: Self = Self { first: 0, count: 1 << 15 };

    fn of_first_chunk(self, tag: u16) -> c_int {
        self.first + c_int::from(tag)
    }
}

/// One rank's access to a communicator of its own, or to one that several endpoints share
/// ([`SharedComm`](super::SharedComm)). The endpoint stays on the thread that made it, which must be one that may call
/// MPI.
///
/// Dropping an endpoint with messages in flight is safe and never waits. The drop cancels receives, and leaks message
/// bodies that the network may still access. It leaks the communicator too, so that no stray message can match in
/// another one. (MPI libraries have some thousands of communicators.) A send that is never received may still delay
/// MPI_Finalize.
pub struct MpiEndpoint {
    comm: Arc<Comm>,
    tags: Tags,
    chunk: usize,
    requests: RequestsInFlight,
    finished: Vec<FinishedRequest>,
    flights: HashMap<Ticket, Flight>,
    streams: HashMap<(Rank, u16), VecDeque<Ticket>>,
    next: Ticket,
    failed: Option<Error>,
    idle: Arc<Backoff>,
    /// Keeps MPI from being finalised. Declared after `comm`, so that it is dropped later.
    session: Option<Rc<Session>>,
}

impl MpiEndpoint {
    /// Returns an endpoint on a duplicate of `comm`; `comm` itself is not used. Collective over its ranks: one
    /// MPI_Comm_dup.
    ///
    /// The duplicate is freed when the endpoint is dropped. If MPI is finalised first, every later call on the endpoint
    /// is an error, and dropping the endpoint frees nothing.
    ///
    /// # Errors
    /// [`Error::Fabric`] with MPI's error text, if the error handler of `comm` returns.
    ///
    /// # Safety
    /// MPI is initialised. `comm` is a valid intracommunicator. The thread is one that may call MPI.
    pub unsafe fn from_raw(comm: MPI_Comm) -> Result<Self> {
        // SAFETY: the caller's promise is the same.
        unsafe { Self::from_raw_with_chunk(comm, DEFAULT_CHUNK) }
    }

    /// Returns an endpoint like [`MpiEndpoint::from_raw`], with MPI messages of at most `chunk` bytes (1 to 2^31 - 1,
    /// the same on all ranks).
    ///
    /// # Errors
    /// A chunk out of range, and the errors of [`MpiEndpoint::from_raw`].
    ///
    /// # Safety
    /// The same as for [`MpiEndpoint::from_raw`].
    pub unsafe fn from_raw_with_chunk(comm: MPI_Comm, chunk: usize) -> Result<Self> {
        if chunk == 0 || c_int::try_from(chunk).is_err() {
            return Err(Error::argument("MPI chunk in bytes", chunk, format!("1 to {}", c_int::MAX)));
        }
        // SAFETY: the caller's promise.
        let comm = unsafe { Comm::duplicate_of(comm)? };
        Ok(Self::over(comm, chunk, None))
    }

    /// Keeps MPI from being finalised as long as the endpoint lives.
    pub(super) fn holding(mut self, session: Rc<Session>) -> Self {
        self.session = Some(session);
        self
    }

    pub(super) fn over(comm: Comm, chunk: usize, session: Option<Rc<Session>>) -> Self {
        Self::with(Arc::new(comm), Tags::ALL, chunk, session)
    }

    /// Returns an endpoint of a communicator, with these tags. Local.
    pub(super) fn with(comm: Arc<Comm>, tags: Tags, chunk: usize, session: Option<Rc<Session>>) -> Self {
        if comm.ranks == 1 {
            super::warn_of_another_launcher();
        }
        Self {
            comm,
            tags,
            chunk,
            requests: RequestsInFlight::default(),
            finished: Vec::new(),
            flights: HashMap::new(),
            streams: HashMap::new(),
            next: 0,
            failed: None,
            idle: Arc::new(Backoff::new()),
            session,
        }
    }

    /// Checks that the endpoint can still be used: no call has failed before, and MPI is not finalised.
    fn check_usable(&self) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        // A program that initialised MPI may finalise it while the endpoint lives; this library does not.
        if !self.session.as_ref().is_some_and(|session| session.ours) && is_finalised() {
            return Err(Error::fabric("MPI was finalised before the last call on a communicator's file"));
        }
        Ok(())
    }

    /// Records a failure. After it the communicator's messages may no longer match, so every later call fails too.
    fn remember<T>(&mut self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn check_peer(&self, peer: Rank, tag: u16) -> Result<()> {
        if peer >= self.comm.ranks {
            return Err(Error::argument("rank of the peer", peer, format!("0 to {}", self.comm.ranks - 1)));
        }
        if c_int::from(tag) >= self.tags.count {
            return Err(Error::argument("message tag", tag, format!("0 to {}", self.tags.count - 1)));
        }
        Ok(())
    }

    fn ticket(&mut self) -> Ticket {
        self.next += 1;
        self.next
    }

    /// Returns the MPI tag of a message's chunks after the first.
    fn further_tag(&self, tag: u16) -> Result<c_int> {
        let further = self.tags.of_first_chunk(tag) + self.tags.count;
        if further > self.comm.highest_tag {
            let what = format!("tag {further} of a message over {} bytes", self.chunk);
            return Err(Error::fabric(format!("{what} is above this MPI's highest tag, {}", self.comm.highest_tag)));
        }
        Ok(further)
    }

    /// Posts all chunks of `body`. A clone of `body` is in `flights` already, which keeps its memory until all chunks
    /// are sent.
    fn post_send(&mut self, ticket: Ticket, to: Rank, tag: u16, mode: SendMode, body: &Message) -> Result<()> {
        let mut mpi_tag = self.tags.of_first_chunk(tag);
        for number in 0..=body.len() / self.chunk {
            let from = number * self.chunk;
            let chunk = &body[from..body.len().min(from + self.chunk)];
            if number == 1 {
                mpi_tag = self.further_tag(tag)?;
            }
            // SAFETY: a clone of `body` is in `flights` until every chunk has ended, or is leaked.
            let request = unsafe { self.comm.send(chunk, to, mpi_tag, mode)? };
            self.requests.push(request, ticket);
        }
        Ok(())
    }

    /// Posts the receive of the next chunk of `ticket`, if it waits for one and is first in its stream.
    fn post_further(&mut self, key: (Rank, u16), ticket: Ticket) -> Result<()> {
        let is_head = self.streams.get(&key).and_then(VecDeque::front) == Some(&ticket);
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

    /// Records an MPI message that has ended.
    fn record(&mut self, ended: &FinishedRequest, done: &mut Vec<Completion>) -> Result<()> {
        let ticket = ended.ticket;
        let Some(flight) = self.flights.get_mut(&ticket) else {
            return Err(Error::internal(self.comm.rank, format!("no message has ticket {ticket}")));
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

    /// Reports a complete message. If other messages of its stream wait, posts the next receive of the first of them.
    fn deliver(&mut self, key: (Rank, u16), ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        let Some(Flight::Receive(incoming)) = self.flights.remove(&ticket) else { return Ok(()) };
        done.push(Completion { ticket, message: Some(incoming.body.into_message()) });
        if incoming.capacity < self.chunk {
            return Ok(());
        }
        let Some(stream) = self.streams.get_mut(&key) else { return Ok(()) };
        stream.retain(|&other| other != ticket);
        match stream.front().copied() {
            Some(head) => self.post_further(key, head),
            None => {
                self.streams.remove(&key);
                Ok(())
            }
        }
    }

    fn advance(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        let mut finished = std::mem::take(&mut self.finished);
        self.requests.test_some(&mut finished)?;
        for ended in finished.drain(..) {
            self.record(&ended, done)?;
        }
        self.finished = finished;
        Ok(())
    }

    fn wait_for(&mut self, ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        let mut finished = std::mem::take(&mut self.finished);
        self.requests.wait(ticket, &mut finished);
        for ended in finished.drain(..) {
            self.record(&ended, done)?;
        }
        self.finished = finished;
        Ok(())
    }

    fn start_receive(&mut self, ticket: Ticket, mut incoming: Incoming) -> Result<()> {
        let key = (incoming.from, incoming.tag);
        let request = incoming.post(&self.comm, self.chunk, self.tags.of_first_chunk(key.1))?;
        if incoming.capacity >= self.chunk {
            self.streams.entry(key).or_default().push_back(ticket);
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

    fn sends_in_place(&self) -> bool {
        true
    }

    fn progress(&mut self) -> Result<()> {
        self.check_usable()?;
        let outcome = self.comm.progress();
        self.remember(outcome)
    }

    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        self.check_usable()?;
        self.check_peer(to, tag)?;
        let ticket = self.ticket();
        let chunks = message.len() / self.chunk + 1;
        self.flights.insert(ticket, Flight::Send { to, tag, body: message.clone(), chunks });
        let outcome = self.post_send(ticket, to, tag, mode, &message);
        self.remember(outcome)?;
        Ok(ticket)
    }

    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket> {
        self.check_usable()?;
        self.check_peer(from, tag)?;
        let incoming = Incoming::new(from, tag, capacity)?;
        let ticket = self.ticket();
        let outcome = self.start_receive(ticket, incoming);
        self.remember(outcome)?;
        Ok(ticket)
    }

    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        self.check_usable()?;
        let outcome = self.advance(done);
        self.remember(outcome)
    }

    fn wait(&mut self, ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        self.check_usable()?;
        // Long messages need polling: the receive of a chunk is posted when the chunk before has arrived.
        if !self.streams.is_empty() || idle::is_known_to_spin() {
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
        self.check_usable()?;
        let comm = self.comm.duplicate()?;
        Ok(Box::new(Self::over(comm, self.chunk, self.session.clone())))
    }
}

impl Drop for MpiEndpoint {
    fn drop(&mut self) {
        let flights = std::mem::take(&mut self.flights);
        if self.failed.is_some() || !flights.is_empty() {
            self.comm.leak();
        }
        if jobs::is_panicking() || is_finalised() {
            // MPI must not be called any more, and may still access every body.
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

/// A message in flight.
pub(super) enum Flight {
    /// A send: the body, and the number of chunks that are not sent yet.
    Send {
        to: Rank,
        tag: u16,
        #[expect(dead_code, reason = "kept alive for MPI, which reads it")]
        body: Message,
        chunks: usize,
    },
    /// A receive: the bytes received so far.
    Receive(Incoming),
}

/// A receive of a message, chunk by chunk.
pub(super) struct Incoming {
    pub(super) from: Rank,
    pub(super) tag: u16,
    pub(super) capacity: usize,
    /// A block of `capacity` bytes; its length is the number of bytes received.
    pub(super) body: Block,
    /// True if the last chunk was full and the receive of the next is not posted yet.
    pub(super) waiting: bool,
}

impl Incoming {
    pub(super) fn new(from: Rank, tag: u16, capacity: u64) -> Result<Self> {
        let room = usize::try_from(capacity).ok().and_then(|capacity| Some((capacity, Block::take(capacity).ok()?)));
        let Some((capacity, body)) = room else {
            return Err(Error::fabric(format!("no memory to receive {capacity} bytes from rank {from}")));
        };
        Ok(Self { from, tag, capacity, body, waiting: false })
    }

    /// Posts the receive of the next chunk, into the memory after the received bytes.
    pub(super) fn post(&mut self, comm: &Comm, chunk: usize, tag: c_int) -> Result<Request> {
        let length = (self.capacity - self.body.len()).min(chunk);
        let from = self.body.len();
        let room = &mut self.body.whole_mut()[from..][..length];
        // SAFETY: the block never grows, and is in `flights` until the chunk has ended, or is leaked.
        unsafe { comm.receive(room.as_mut_ptr(), room.len(), self.from, tag) }
    }

    /// Adds a chunk of `bytes` bytes to the received bytes.
    pub(super) fn grow(&mut self, bytes: usize) {
        let length = (self.body.len() + bytes).min(self.capacity);
        self.body.set_len(length);
    }

    pub(super) fn name(&self) -> String {
        format!("receive of at most {} bytes from rank {} with tag {}", self.capacity, self.from, self.tag)
    }
}

/// A request that has ended, with or without an error.
pub(super) struct FinishedRequest {
    /// Ticket of the message that the request belongs to.
    pub(super) ticket: Ticket,
    /// Error code of MPI for this request.
    pub(super) code: c_int,
    status: MPI_Status,
}

impl FinishedRequest {
    /// Returns the number of bytes received.
    pub(super) fn bytes(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a status that MPI filled in for a completed receive of bytes.
        check("MPI_Get_count", unsafe { ffi::MPI_Get_count(&self.status, handles().uint8, &mut count) })?;
        usize::try_from(count).map_err(|_| Error::fabric(format!("MPI_Get_count: {count} bytes, not a whole number")))
    }
}

/// All requests in flight, without gaps, as MPI_Testsome needs them.
#[derive(Default)]
pub(super) struct RequestsInFlight {
    requests: HandleArray<Request>,
    tickets: Vec<Ticket>,
    indices: Vec<c_int>,
    statuses: Statuses,
}

impl RequestsInFlight {
    /// Adds a request. Several requests may have the same ticket.
    pub(super) fn push(&mut self, request: Request, ticket: Ticket) {
        self.requests.push(request);
        self.tickets.push(ticket);
    }

    /// Appends the requests that have ended since the last call to `finished`. One MPI_Testsome: O(requests in flight),
    /// never waits.
    pub(super) fn test_some(&mut self, finished: &mut Vec<FinishedRequest>) -> Result<()> {
        let n = self.requests.len();
        if n == 0 {
            return Ok(());
        }
        self.indices.reserve(n);
        self.statuses.resize(n);
        let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr());
        let mut ended = 0;
        // SAFETY: `n` requests, and room for `n` indices and statuses (the vector of indices is kept empty).
        let rc = unsafe { ffi::MPI_Testsome(n as c_int, self.requests.as_mut_ptr(), &mut ended, indices, statuses) };
        let some_failed = rc == constants().err_in_status;
        if !some_failed {
            check("MPI_Testsome", rc)?;
        }
        let ended = usize::try_from(ended).unwrap_or(0).min(n); // MPI_UNDEFINED is negative
        for i in 0..ended {
            // SAFETY: MPI has filled the first `ended` entries.
            let index = unsafe { *indices.add(i) };
            let status = self.statuses.get(i);
            let code = if some_failed { status.error() } else { ffi::SUCCESS };
            finished.push(FinishedRequest { ticket: self.tickets[index as usize], code, status });
            // SAFETY: MPI has filled the first `ended` entries; they are kept for the removal below.
            unsafe { self.indices.set_len(i + 1) };
        }
        self.indices.sort_unstable_by(|a, b| b.cmp(a));
        for index in self.indices.drain(..) {
            self.requests.swap_remove(index as usize);
            self.tickets.swap_remove(index as usize);
        }
        Ok(())
    }

    /// Waits for the oldest request of `ticket`, if it has one, and appends it to `finished`. One MPI_Wait, which
    /// sleeps in some versions of MPICH in which MPI_Waitsome and MPI_Waitany spin.
    pub(super) fn wait(&mut self, ticket: Ticket, finished: &mut Vec<FinishedRequest>) {
        let Some(at) = self.tickets.iter().position(|&other| other == ticket) else { return };
        let mut status = MPI_Status::zeroed();
        // SAFETY: an active request, and room for its status.
        let code = idle::measured(|| unsafe { ffi::MPI_Wait(self.requests.place(at), &mut status) });
        self.requests.swap_remove(at);
        self.tickets.swap_remove(at);
        finished.push(FinishedRequest { ticket, code, status });
    }

    /// Gives up all requests in flight: cancels receives, and frees requests that do not end. Returns the tickets whose
    /// memory MPI may still access. Never waits.
    pub(super) fn abandon(&mut self, is_receive: impl Fn(Ticket) -> bool) -> HashSet<Ticket> {
        let mut touched = HashSet::new();
        for (at, ticket) in self.tickets.iter().enumerate() {
            if is_receive(*ticket) {
                // SAFETY: an active receive request.
                unsafe { ffi::MPI_Cancel(self.requests.place(at)) };
            }
        }
        for (at, ticket) in self.tickets.iter().enumerate() {
            if !ends_soon(self.requests.place(at)) {
                touched.insert(*ticket);
                // SAFETY: an active request; the caller leaks its buffer.
                unsafe { ffi::MPI_Request_free(self.requests.place(at)) };
            }
        }
        self.requests.clear();
        self.tickets.clear();
        touched
    }
}

/// Returns true if a request ends within a few tests, as a cancelled receive and a finished send do.
fn ends_soon(request: *mut Request) -> bool {
    const TESTS: usize = 100;
    (0..TESTS).any(|_| {
        let mut ended = 0;
        // SAFETY: a valid request; the status is ignored.
        let rc = unsafe { ffi::MPI_Test(request, &mut ended, status_ignore()) };
        rc == ffi::SUCCESS && ended != 0
    })
}
