//! Threads of this process: helper threads beside a rank, and ranks that are threads.

use std::io;
use std::thread::{Builder, Scope};

/// A thread; what a thread of a scope ended with, and the thread.
pub use std::thread::{JoinHandle, Result as Ended, ScopedJoinHandle as Scoped, scope};

/// Starts a thread of this name, which works until `work` returns.
///
/// # Errors
/// The system cannot start a thread.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_string()).spawn(work)
}

/// Starts a thread of this name, which ends before `scope` does.
///
/// # Errors
/// The system cannot start a thread.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<Scoped<'scope, T>> {
    Builder::new().name(name).spawn_scoped(scope, work)
}

/// Returns true while a panic unwinds this thread.
pub fn is_panicking() -> bool {
    std::thread::panicking()
}

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
