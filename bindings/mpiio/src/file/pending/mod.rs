//! Advances collective calls in flight: non-blocking calls, split collectives, and blocking calls that follow them in the queue.
//!
//! Starting a call does not wait for other ranks. The call advances whenever this rank calls MPI_Wait, MPI_Test, one
//! of their variants (`calls/requests`) or another collective call. A helper thread (`thread`) advances the call too;
//! without MPI_THREAD_MULTIPLE it does so only if the file's ranks share memory. Calls of one file run in the order
//! in which they were started; calls of different files run concurrently.
//!
//! | module | holds |
//! |---|---|
//! | [`queue`] | the calls of one file, and the call that runs |
//! | [`ticket`] | the handle of a call in flight for its starter |
//! | [`mpi_arguments`] | a call that the MPI library runs after all |
//! | [`thread`] | the helper thread |

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tributary::fabric::{Quiet, Waiting};
use tributary_bindings::guard::lock;

use crate::file::files::SharedFile;

mod mpi_arguments;
mod queue;
mod thread;
mod ticket;

pub use mpi_arguments::MpiArguments;
pub use queue::{CallQueue, QueuedCall, advance};
pub use ticket::{CallTicket, Split, failed, live, make_ended};

/// Number of calls in flight, plus number of requests that the program has not completed yet.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Number of times that a thread which may call MPI has advanced the calls in flight.
static VISITS: AtomicU64 = AtomicU64::new(0);

/// True while the program's thread sleeps until the running call can go on. No other thread polls the call during
/// that time.
static IDLING: AtomicBool = AtomicBool::new(false);

/// All files that have calls in flight.
static ACTIVE: Mutex<Vec<Arc<SharedFile>>> = Mutex::new(Vec::new());

/// Returns true if any call is in flight.
#[inline]
pub fn is_any() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

fn active() -> MutexGuard<'static, Vec<Arc<SharedFile>>> {
    lock(&ACTIVE)
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

/// Advances calls in flight, in a thread that may not call MPI. Skips calls that need messages. Local.
fn progress_without_messages() {
    let files = active().clone();
    for shared in files {
        if let Some(mut file) = shared.try_lock_file()
            && !IDLING.load(Ordering::SeqCst)
        {
            queue::advance_without_messages(&shared, &mut file);
        }
    }
}

/// Advances all calls in flight until the call of `ticket` has ended.
pub fn drive(ticket: &CallTicket) {
    let mut rest = PollPause::default();
    loop {
        progress();
        if ticket.outcome().is_some() {
            return;
        }
        rest.long();
    }
}

/// Advances all calls in flight until the calls on this file have ended.
pub fn settle(shared: &SharedFile) {
    let mut rest = PollPause::default();
    while is_any() && !shared.lock().queue.is_empty() {
        progress();
        rest.long();
    }
}

/// Waits for a future of the engine on a file that has no calls in flight, and advances calls of other files
/// meanwhile. If `waiting` is None, the future never has to wait.
pub fn complete<T>(waiting: Option<&Waiting>, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    if let Some(waiting) = waiting
        && !is_any()
    {
        return waiting.wait(future);
    }
    let mut rest = PollPause::default();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        progress();
        rest.brief();
    }
}

/// A rank's pause between two polls of the calls in flight.
#[derive(Default)]
pub struct PollPause {
    quiet: Option<Quiet>,
    rounds: u32,
}

impl PollPause {
    /// Number of polls that are followed only by yielding the core.
    const YIELDS: u32 = 50;
    /// Duration of a rank's sleep after each later poll.
    const SLEEP: Duration = Duration::from_micros(50);

    /// Pauses while this rank waits only for calls of the engine. Waits as the engine does if there is only one file and
    /// one thread.
    fn long(&mut self) {
        // The flag is set before this thread looks at the call, which another thread may be polling.
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

    /// Pauses while this rank waits also for messages of the program.
    pub fn brief(&mut self) {
        self.rounds += 1;
        if self.rounds < Self::YIELDS { std::thread::yield_now() } else { std::thread::sleep(Self::SLEEP) }
    }
}
