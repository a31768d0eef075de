//! The helper thread: calls in flight go on while the program computes. Only where the program asked for
//! MPI_THREAD_MULTIPLE, since it calls MPI beside the program's own threads.

use std::sync::OnceLock;
use std::thread::Thread;

use super::{Rest, is_any, progress};
use crate::abi::has_one_thread_at_a_time;
use crate::entry::claim_thread;

/// The thread; none where MPI does not allow it, or the system has none to give.
static HELPER: OnceLock<Option<Thread>> = OnceLock::new();

/// Whether there is one.
pub fn is_running() -> bool {
    HELPER.get().is_some_and(Option::is_some)
}

/// A call is in flight: starts the thread, or wakes it.
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
