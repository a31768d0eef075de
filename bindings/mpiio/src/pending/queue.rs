//! The collective calls in flight on one file, in the order in which they were started.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tributary::Error;
use tributary::fabric::{Waiting, on_a_sending_thread};
use tributary_bindings::access::Access;

use super::mpi_arguments::MpiArguments;
use super::ticket::Ticket;
use super::{active, thread};
use crate::backend::{Backend, Runner};
use crate::calls::attempt::Ended;
use crate::files::Shared;
use crate::open_file::OpenFile;
use tributary::engine::{Direction, may_have_device_memory};

/// A queued call.
pub struct Job {
    /// Write or read.
    pub direction: Direction,
    /// This rank's access; or an error, which becomes the result on all ranks.
    pub access: Result<Access, Error>,
    /// The arguments for MPI, if the engine does not run the call; none if the waiting caller passes the call to MPI.
    pub for_mpi: Option<MpiArguments>,
    /// The ticket that receives the result.
    pub ticket: Arc<Ticket>,
}

/// What a running call returns: the file's backend, and the result.
type CallResult = (Backend, Result<Ended, Error>);
/// A running call. It owns the file's backend.
type Running = Pin<Box<dyn Future<Output = CallResult>>>;

/// The calls in flight on a file.
#[derive(Default)]
pub struct Queue {
    jobs: VecDeque<Job>,
    running: Option<(Running, Arc<Ticket>)>,
    /// What the running call has returned in the helper thread.
    returned: Option<CallResult>,
    waiting: Option<Waiting>,
    needs_no_messages: bool,
}

impl Queue {
    /// Appends a call. Its memory must stay valid and untouched until its ticket has a result.
    pub fn push(&mut self, shared: &Arc<Shared>, job: Job) {
        job.ticket.begins();
        self.jobs.push_back(job);
        let mut active = active();
        if !active.iter().any(|other| Arc::ptr_eq(other, shared)) {
            active.push(shared.clone());
        }
        drop(active);
        thread::wake();
    }

    /// Whether no call is left.
    pub fn is_empty(&self) -> bool {
        self.running.is_none() && self.jobs.is_empty()
    }

    /// How the running call waits, if the engine runs it.
    pub fn waiting(&self) -> Option<Waiting> {
        self.waiting.clone()
    }
}

/// Advances the file's calls as far as possible without waiting. Local.
pub fn advance(shared: &Arc<Shared>, file: &mut OpenFile) {
    loop {
        if file.queue.running.is_none() {
            let Some(job) = file.queue.jobs.pop_front() else { break };
            begin(shared.clone(), file, job);
        }
        let Some((backend, outcome)) = file.queue.returned.take().or_else(|| poll(file)) else { return };
        file.backend = backend;
        if let Some((_, ticket)) = file.queue.running.take() {
            ticket.end(outcome);
        }
    }
    file.queue.waiting = None;
    active().retain(|other| !Arc::ptr_eq(other, shared));
}

/// Advances the running call in a thread that may not call MPI, if the call needs no messages. What it returns is kept for the next
/// [`advance`]. Local.
pub fn advance_without_messages(file: &mut OpenFile) {
    if file.queue.needs_no_messages && file.queue.returned.is_none() {
        file.queue.returned = poll(file);
    }
}

/// Polls the running call; what it returns.
fn poll(file: &mut OpenFile) -> Option<CallResult> {
    let (running, ticket) = file.queue.running.as_mut()?;
    let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
    match polled {
        Ok(Poll::Pending) => None,
        Ok(Poll::Ready(ended)) => Some(ended),
        Err(_) => {
            // The engine has ended the job already, unless the environment says otherwise.
            let what = format!("{} panicked; please report it", ticket.function.full_name());
            let mut backend = file.backend.message_in_place();
            backend.runner = Runner::Mpi(what.clone());
            Some((backend, Err(Error::Internal { rank: 0, what })))
        }
    }
}

/// Starts a call, which takes the file's backend.
fn begin(counts: Arc<Shared>, file: &mut OpenFile, job: Job) {
    file.queue.waiting = file.backend.waiting();
    // A thread may have no access to a device that another one uses.
    file.queue.needs_no_messages = file.backend.needs_no_messages() && !may_have_device_memory();
    let mut backend = file.backend.message_in_place();
    let ticket = job.ticket.clone();
    let running = Box::pin(async move {
        let Job { direction, access, for_mpi, ticket } = job;
        // SAFETY: the program does not touch the memory until it knows that the call has ended.
        let outcome = unsafe { backend.attempt(direction, &access, ticket.function, &counts, None, false).await };
        let outcome = match (outcome, for_mpi) {
            (Ok(Ended::LeftToMpi), Some(arguments)) => {
                on_a_sending_thread().await;
                Ok(arguments.run(direction).await)
            }
            (outcome, _) => outcome,
        };
        (backend, outcome)
    });
    file.queue.running = Some((running, ticket));
}
