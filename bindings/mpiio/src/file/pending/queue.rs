//! The collective calls in flight on one file, in the order in which they were started.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tributary::access::OwnedAccess;
use tributary::engine::may_have_device_memory;
use tributary::fabric::{Waiting, until_mpi_thread};
use tributary::{Direction, Error};

use crate::file::backend::{Backend, Ended, Runner};
use crate::file::files::{OpenFile, SharedFile};
use crate::file::pending::mpi_arguments::MpiArguments;
use crate::file::pending::ticket::CallTicket;
use crate::file::pending::{active, thread};
use crate::mpi::next::Form;

/// A call that was started and waits for its turn.
pub struct QueuedCall {
    /// Form of the call's function.
    pub form: Form,
    /// This rank's access; or an error of its arguments, which all ranks get as the result. The program does not touch its
    /// memory until it knows that the call has ended.
    pub access: Result<OwnedAccess<'static>, Error>,
    /// Arguments with which MPI can run the call. None if the caller waits and passes the call to MPI itself.
    pub for_mpi: Option<MpiArguments>,
    /// Ticket that receives the result.
    pub ticket: Arc<CallTicket>,
}

/// Result of a running call: the file's backend, and the result for the program.
type CallResult = (Backend, Result<Ended, Error>);
/// A running call, which owns the file's backend.
type Running = Pin<Box<dyn Future<Output = CallResult>>>;

/// The collective calls in flight on one file.
#[derive(Default)]
pub struct CallQueue {
    jobs: VecDeque<QueuedCall>,
    running: Option<(Running, Arc<CallTicket>)>,
    /// Calls that have ended in the helper thread, with their results. Their tickets end in a thread that may call MPI.
    ended: Vec<(Arc<CallTicket>, Result<Ended, Error>)>,
    waiting: Option<Waiting>,
    needs_no_messages: bool,
}

impl CallQueue {
    /// Appends a call. The call's memory must stay valid and untouched until the call's ticket has a result.
    pub fn push(&mut self, shared: &Arc<SharedFile>, job: QueuedCall) {
        job.ticket.begins();
        self.jobs.push_back(job);
        let mut active = active();
        if !active.iter().any(|other| Arc::ptr_eq(other, shared)) {
            active.push(shared.clone());
        }
        drop(active);
        thread::wake();
    }

    /// Returns true if no call is running or waiting, and the tickets of all earlier calls have ended.
    pub fn is_empty(&self) -> bool {
        self.running.is_none() && self.jobs.is_empty() && self.ended.is_empty()
    }

    /// Returns how the running call waits for other ranks, if the engine runs the call.
    pub fn waiting(&self) -> Option<Waiting> {
        self.waiting.clone()
    }
}

/// Advances the file's calls as far as possible without waiting. Local.
pub fn advance(shared: &Arc<SharedFile>, file: &mut OpenFile) {
    loop {
        file.queue.ended.drain(..).for_each(|(ticket, outcome)| ticket.end(outcome));
        if !begin_next(shared, file) {
            break;
        }
        if !poll(file) {
            return;
        }
    }
    file.queue.waiting = None;
    active().retain(|other| !Arc::ptr_eq(other, shared));
}

/// Advances calls in a thread that may not call MPI, as long as they need no messages. Keeps their results for the next
/// [`advance`]. Local.
pub fn advance_without_messages(shared: &Arc<SharedFile>, file: &mut OpenFile) {
    while begin_next(shared, file) && file.queue.needs_no_messages && poll(file) {}
}

/// Begins the next call if none is running. Returns true if one is running then.
fn begin_next(shared: &Arc<SharedFile>, file: &mut OpenFile) -> bool {
    if file.queue.running.is_none() {
        let Some(job) = file.queue.jobs.pop_front() else { return false };
        begin(shared.clone(), file, job);
    }
    true
}

/// Polls the running call once. Returns true if the call has ended. Its ticket ends later, in [`advance`].
fn poll(file: &mut OpenFile) -> bool {
    let Some((backend, outcome)) = polled(file) else { return false };
    file.backend = backend;
    if let Some((_, ticket)) = file.queue.running.take() {
        file.queue.ended.push((ticket, outcome));
    }
    true
}

/// Polls the running call once. Returns the result if the call has ended.
fn polled(file: &mut OpenFile) -> Option<CallResult> {
    let (running, ticket) = file.queue.running.as_mut()?;
    let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
    match polled {
        Ok(Poll::Pending) => None,
        Ok(Poll::Ready(ended)) => Some(ended),
        Err(_) => {
            // With `trib_on_failure=return` only: otherwise the engine has ended the job already.
            let what = format!("{} panicked; please report it", ticket.function.full_name());
            let mut backend = file.backend.take_for_call();
            backend.runner = Runner::Mpi(what.clone());
            Some((backend, Err(Error::internal(0, what))))
        }
    }
}

/// Starts a call. The call owns the file's backend until it ends.
fn begin(counts: Arc<SharedFile>, file: &mut OpenFile, job: QueuedCall) {
    file.queue.waiting = file.backend.waiting();
    // This thread may have no access to a device that another thread uses.
    file.queue.needs_no_messages = file.backend.needs_no_messages() && !may_have_device_memory();
    let mut backend = file.backend.take_for_call();
    let ticket = job.ticket.clone();
    let running = Box::pin(async move {
        let QueuedCall { form, mut access, for_mpi, ticket } = job;
        // SAFETY: it is not promised that the future is polled to its end.
        let outcome = unsafe { backend.attempt(form, &mut access, ticket.function, &counts, None, false).await };
        let outcome = match (outcome, for_mpi) {
            (Ok(Ended::LeftToMpi), Some(arguments)) => {
                until_mpi_thread().await;
                let ended = arguments.run().await;
                match form.direction {
                    Direction::Write => backend.wait_for_all(ticket.function).await.map(|()| ended),
                    Direction::Read => Ok(ended),
                }
            }
            (outcome, _) => outcome,
        };
        (backend, outcome)
    });
    file.queue.running = Some((running, ticket));
}
