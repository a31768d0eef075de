//! The helper thread, which advances calls in flight while the program computes. It needs MPI_THREAD_MULTIPLE, because it
//! calls MPI at the same time as the program's threads.

use std::sync::OnceLock;
use std::thread::Thread;

use super::{Rest, is_any, progress};
use crate::abi::has_one_thread_at_a_time;
use crate::entry::claim_thread;

/// The thread; none if the thread level does not allow it, or the operating system cannot start one.
static HELPER: OnceLock<Option<Thread>> = OnceLock::new();

/// Whether the helper thread runs.
pub fn is_running() -> bool {
    HELPER.get().is_some_and(Option::is_some)
}

/// Starts or wakes the thread, because a call is in flight.
pub fn wake() {
    let helper = HELPER.get_or_init(|| {
        if has_one_thread_at_a_time().unwrap_or(true) {
            return None;
        }
        let helper = std::thread::Builder::new().name("tributary progress".to_string()).spawn(run).ok()?;
        Some(helper.thread().clone())
    });
    if let Some(helper) = helper {
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
