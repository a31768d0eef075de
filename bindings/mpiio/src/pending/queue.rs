//! The collective calls of one file that have not ended, in the order in which they were started.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tributary::Error;
use tributary::fabric::Waiting;

use super::by_mpi::Passed;
use super::ticket::Ticket;
use super::{active, thread};
use crate::backend::{Backend, Runner};
use crate::calls::attempt::{Access, Ended};
use crate::files::Shared;
use crate::open_file::OpenFile;
use tributary::engine::Direction;

/// A call that is to run.
pub struct Job {
    /// Write or read.
    pub direction: Direction,
    /// What it moves; or why it cannot, which then is its outcome on all ranks.
    pub access: Result<Access, Error>,
    /// How MPI runs it, where the engine does not; none where whoever waits lets MPI run it.
    pub passed: Option<Passed>,
    /// Who is told.
    pub ticket: Arc<Ticket>,
}

/// Has the file's backend, and gives it back with the outcome.
type Running = Pin<Box<dyn Future<Output = (Backend, Result<Ended, Error>)>>>;

/// The calls of a file.
#[derive(Default)]
pub struct Queue {
    jobs: VecDeque<Job>,
    running: Option<(Running, Arc<Ticket>)>,
    waiting: Option<Waiting>,
}

impl Queue {
    /// One more call. The program's memory is the call's until its ticket has an outcome.
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

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.running.is_none() && self.jobs.is_empty()
    }

    /// How the call that runs waits, where it is the engine's.
    pub fn waiting(&self) -> Option<Waiting> {
        self.waiting.clone()
    }
}

/// Lets the file's calls go on as far as they can without waiting. Local.
pub fn advance(shared: &Arc<Shared>, file: &mut OpenFile) {
    loop {
        let Some((running, ticket)) = &mut file.queue.running else {
            let Some(job) = file.queue.jobs.pop_front() else { break };
            begin(shared.clone(), file, job);
            continue;
        };
        let ticket = ticket.clone();
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut Context::from_waker(Waker::noop()))));
        let (backend, outcome) = match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(ended)) => ended,
            Err(_) => {
                // The engine has ended the job already, unless the environment says otherwise.
                let what = format!("MPI_File_{} panicked; please report it", ticket.name());
                let mut backend = file.backend.lend();
                backend.runner = Runner::Mpi(what.clone());
                (backend, Err(Error::Internal { rank: 0, what }))
            }
        };
        file.backend = backend;
        file.queue.running = None;
        ticket.end(outcome);
    }
    file.queue.waiting = None;
    active().retain(|other| !Arc::ptr_eq(other, shared));
}

/// Starts a call, which takes the file's backend with it.
fn begin(counts: Arc<Shared>, file: &mut OpenFile, job: Job) {
    file.queue.waiting = file.backend.waiting();
    let mut backend = file.backend.lend();
    let ticket = job.ticket.clone();
    let running = Box::pin(async move {
        let Job { direction, access, passed, ticket } = job;
        // SAFETY: the program leaves the memory alone until it knows that the call has ended.
        let outcome = unsafe { backend.attempt(direction, &access, ticket.name(), &counts, None).await };
        let outcome = match (outcome, passed) {
            (Ok(Ended::Passed), Some(passed)) => Ok(passed.run(direction).await),
            (outcome, _) => outcome,
        };
        (backend, outcome)
    });
    file.queue.running = Some((running, ticket));
}
