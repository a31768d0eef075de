//! The helper thread, which advances calls in flight while the program computes, or waits elsewhere.
//!
//! With MPI_THREAD_MULTIPLE it calls MPI at the same time as the program's threads. Otherwise it calls no function of MPI, and advances
//! only calls whose ranks share memory, once the program has not come back to them for a while.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread::Thread;
use std::time::Duration;

use tributary::fabric::send_nothing_here;

use super::{Rest, VISITS, is_any, progress, progress_without_messages};
use crate::abi::has_one_thread_at_a_time;
use crate::entry::claim_thread;

/// The thread, and whether it may call MPI; none if the operating system cannot start one.
static HELPER: OnceLock<Option<(Thread, bool)>> = OnceLock::new();
/// How long a program is away before the thread that may not call MPI takes over. Shorter, and it would compete with ranks that
/// test often.
const AWAY: Duration = Duration::from_millis(10);
/// How long this thread then sleeps between polls.
const SLEEP: Duration = Duration::from_millis(1);

/// Returns true if a helper thread runs that advances all calls.
pub fn is_running() -> bool {
    matches!(HELPER.get(), Some(Some((_, true))))
}

/// Starts or wakes the thread, because a call is in flight.
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
        let mut rest = Rest::default();
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
    send_nothing_here();
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
