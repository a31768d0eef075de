//! Collective calls that were started and have not ended: non-blocking ones, split ones, and those that wait behind them.
//!
//! Starting one waits for no other rank. It goes on whenever this rank calls MPI_Wait, MPI_Test or one of their kin
//! (`calls/requests`), or another collective call of ours; and in a helper thread where the program asked for
//! MPI_THREAD_MULTIPLE (`thread`). Calls of one file run one after the other, in the order in which they were started;
//! calls of several files side by side.
//!
//! | module | holds |
//! |---|---|
//! | [`queue`] | the calls of one file, and the one that runs |
//! | [`ticket`] | what a call is to its starter: a request, or somebody who waits |
//! | [`by_mpi`] | a call that the MPI library runs after all |
//! | [`thread`] | the helper thread |

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tributary::fabric::Quiet;

use crate::files::Shared;

mod by_mpi;
mod queue;
mod thread;
mod ticket;

pub use by_mpi::Passed;
pub use queue::{Job, Queue, advance};
pub use ticket::{Ticket, failed, live};

/// Calls in flight, and requests that the program has not taken yet.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// Files with calls in flight.
static ACTIVE: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

/// Whether anything is in flight.
#[inline]
pub fn is_any() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

fn active() -> std::sync::MutexGuard<'static, Vec<Arc<Shared>>> {
    ACTIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets every call in flight go on as far as it can without waiting. Local.
pub fn progress() {
    let files = active().clone();
    for shared in files {
        // Another thread that has it lets it go on, or waits for it.
        if let Some(mut file) = shared.try_lock_file() {
            queue::advance(&shared, &mut file);
        }
    }
}

/// Goes on with all calls until this one has ended.
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

/// Goes on with all calls until those of this file have ended.
pub fn settle(shared: &Shared) {
    let mut rest = Rest::default();
    while is_any() && !shared.lock().queue.is_empty() {
        progress();
        rest.long();
    }
}

/// How a rank waits between two looks at what is in flight.
#[derive(Default)]
pub struct Rest {
    quiet: Option<Quiet>,
    rounds: u32,
}

impl Rest {
    /// Looks during which the core is only yielded.
    const YIELDS: u32 = 50;
    /// How long a rank then sleeps between looks.
    const SLEEP: Duration = Duration::from_micros(50);

    /// Waits for calls of ours: as the engine does, if there is only one file and one thread.
    fn long(&mut self) {
        let only = match active().as_slice() {
            [only] if !thread::is_running() => only.try_lock_file().and_then(|file| file.queue.waiting()),
            _ => None,
        };
        match only {
            Some(waiting) => waiting.idle(self.quiet.get_or_insert_with(|| waiting.quiet())),
            None => self.brief(),
        }
    }

    /// Waits for messages of the program as well.
    pub fn brief(&mut self) {
        self.rounds += 1;
        if self.rounds < Self::YIELDS { std::thread::yield_now() } else { std::thread::sleep(Self::SLEEP) }
    }
}
