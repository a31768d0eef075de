//! Collective calls in flight: non-blocking calls, split collectives, and blocking calls queued behind them.
//!
//! Starting a call does not wait for other ranks. The call advances whenever this rank calls MPI_Wait, MPI_Test or one of
//! their variants (`calls/requests`), or another collective call; and in a helper thread (`thread`), without MPI_THREAD_MULTIPLE
//! only if its ranks share memory. Calls of one file run in the order in which they were started; calls of different files
//! run concurrently.
//!
//! | module | holds |
//! |---|---|
//! | [`queue`] | the calls of one file, and the one that runs |
//! | [`ticket`] | the handle of a call in flight for its starter |
//! | [`mpi_arguments`] | a call that the MPI library runs after all |
//! | [`thread`] | the helper thread |

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tributary::fabric::{Quiet, Waiting};

use crate::files::Shared;

mod mpi_arguments;
mod queue;
mod thread;
mod ticket;

pub use mpi_arguments::MpiArguments;
pub use queue::{Job, Queue, advance};
pub use ticket::{Ticket, failed, live};

/// Number of calls in flight and of requests that the program has not completed yet.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// How often a thread that may call MPI has advanced the calls in flight.
static VISITS: AtomicU64 = AtomicU64::new(0);

/// True if the program's thread sleeps until the running call can go on: no other thread polls the call then.
static IDLING: AtomicBool = AtomicBool::new(false);

/// Files with calls in flight.
static ACTIVE: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

/// Returns true if any call is in flight.
#[inline]
pub fn is_any() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

fn active() -> std::sync::MutexGuard<'static, Vec<Arc<Shared>>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Advances every call in flight as far as possible without waiting. Local.
pub fn progress() {
    VISITS.fetch_add(1, Ordering::Relaxed);
    let files = active().clone();
    for shared in files {
        // Another thread that holds the file advances its calls.
        if let Some(mut file) = shared.try_lock_file() {
            queue::advance(&shared, &mut file);
        }
    }
}

/// As [`progress`], in a thread that may not call MPI. Local.
fn progress_without_messages() {
    let files = active().clone();
    for shared in files {
        if let Some(mut file) = shared.try_lock_file()
            && !IDLING.load(Ordering::SeqCst)
        {
            queue::advance_without_messages(&mut file);
        }
    }
}

/// Advances all calls until this one has ended.
pub fn drive(ticket: &Ticket) {
    let mut rest = Rest::default();
    loop {
        progress();
        if ticket.outcome().is_some() {
            return;
        }
        rest.long();
    }
}

/// Advances all calls until those of this file have ended.
pub fn settle(shared: &Shared) {
    let mut rest = Rest::default();
    while is_any() && !shared.lock().queue.is_empty() {
        progress();
        rest.long();
    }
}

/// Waits for a future of the engine on a file that has no calls in flight, and advances those of other files meanwhile. Without
/// `waiting` the future waits for nothing.
pub fn complete<T>(waiting: Option<&Waiting>, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    if let Some(waiting) = waiting
        && !is_any()
    {
        return waiting.wait(future);
    }
    let mut rest = Rest::default();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        progress();
        rest.brief();
    }
}

/// How a rank waits between two polls of the calls in flight.
#[derive(Default)]
pub struct Rest {
    quiet: Option<Quiet>,
    rounds: u32,
}

impl Rest {
    /// Number of polls after which the rank only yields its core.
    const YIELDS: u32 = 50;
    /// How long a rank sleeps between later polls.
    const SLEEP: Duration = Duration::from_micros(50);

    /// Waits for calls of the engine: as the engine does, if there is only one file and one thread.
    fn long(&mut self) {
        // Before it looks at the call, which another thread may be polling.
        IDLING.store(true, Ordering::SeqCst);
        let only = match active().as_slice() {
            [only] if !thread::is_running() => only.try_lock_file().and_then(|file| file.queue.waiting()),
            _ => None,
        };
        match only {
            Some(waiting) => waiting.idle(self.quiet.get_or_insert_with(|| waiting.quiet())),
            None => self.brief(),
        }
        IDLING.store(false, Ordering::SeqCst);
    }

    /// Waits for messages of the program too.
    pub fn brief(&mut self) {
        self.rounds += 1;
        if self.rounds < Self::YIELDS { std::thread::yield_now() } else { std::thread::sleep(Self::SLEEP) }
    }
}
