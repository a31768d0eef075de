//! The helper thread, which advances calls in flight while the program computes or waits for something else.
//!
//! With MPI_THREAD_MULTIPLE the thread calls MPI at the same time as the program's threads. Otherwise the thread
//! calls no function of MPI, and advances only calls whose ranks share memory, after the program has not advanced
//! them for a while.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::Duration;

use tributary::fabric::forbid_mpi_here;

use crate::file::pending::{PollPause, VISITS, is_any, progress, progress_without_messages};
use crate::mpi::abi::has_one_thread_at_a_time;
use crate::mpi::inside::claim_thread;

/// The helper thread, and true if it may call MPI. None if the operating system cannot start a thread.
static HELPER: OnceLock<Option<(Thread, bool)>> = OnceLock::new();
/// Time without an MPI call of the program after which the helper thread that may not call MPI takes over. With a
/// shorter time, the thread would compete with ranks that test often.
const AWAY: Duration = Duration::from_millis(10);
/// Duration of this thread's sleep between two polls.
const SLEEP: Duration = Duration::from_millis(1);

/// Returns true if a helper thread runs that may call MPI, and so advances all calls.
pub fn is_running() -> bool {
    matches!(HELPER.get(), Some(Some((_, true))))
}

/// Starts or wakes the helper thread, because a call is in flight.
pub fn wake() {
    let helper = HELPER.get_or_init(|| {
        let may_call_mpi = !has_one_thread_at_a_time().unwrap_or(true);
        let run = if may_call_mpi { run } else { run_without_messages };
        let helper = std::thread::Builder::new().name("tributary progress".to_string()).spawn(run).ok()?;
        Some((helper.thread().clone(), may_call_mpi))
    });
    if let Some((helper, _)) = helper {
        helper.unpark();
    }
}

fn run() {
    tributary::engine::leave_to_program();
    claim_thread();
    loop {
        let mut rest = PollPause::default();
        while is_any() {
            progress();
            rest.brief();
        }
        std::thread::park();
    }
}

fn run_without_messages() {
    tributary::engine::leave_to_program();
    claim_thread();
    forbid_mpi_here();
    loop {
        while is_any() {
            let visits = VISITS.load(Ordering::Relaxed);
            std::thread::sleep(AWAY);
            while is_any() && VISITS.load(Ordering::Relaxed) == visits {
                progress_without_messages();
                std::thread::sleep(SLEEP);
            }
        }
        std::thread::park();
    }
}
