//! The engine's interface to the system on which it runs, one module for each service: the time ([`clock`]), helper threads
//! ([`jobs`]), waits ([`waits`]), and state of the process ([`process`]). A test forbids other uses of these services.
//!
//! The services are the system's, unless the thread is in a [`World`]: then that world provides time, order and threads. A world
//! runs all its tasks on one thread, one at a time.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub mod clock;
pub mod jobs;
pub mod process;
pub mod waits;

use process::{ProcessValues, per_process, per_thread};

/// Number of a task of a world.
pub type TaskId = u64;

/// A simulated system, with a clock and an order of its own. Its tasks are ranks and their helper threads. All of them run
/// on the thread that has [entered](enter) the world; a task runs until it calls a function that waits.
pub trait World {
    /// Returns the time.
    fn now(&self) -> Instant;

    /// Lets other tasks run.
    fn yield_now(&self);

    /// Waits until [`World::wake`] with the same key, at most for `longest`. Returns false if the time has passed.
    fn block(&self, key: usize, longest: Option<Duration>) -> bool;

    /// Wakes all tasks that wait for the key.
    fn wake(&self, key: usize);

    /// Returns the running task.
    fn task(&self) -> TaskId;

    /// Waits until [`World::unpark`] of the running task, at most for `longest`. Returns at once if it came before.
    fn park(&self, longest: Option<Duration>);

    /// Ends the current or the next [`World::park`] of a task.
    fn unpark(&self, task: TaskId);

    /// Starts a task of the running task's process.
    ///
    /// # Errors
    /// The world has no more tasks.
    fn start(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<TaskId>;

    /// Returns true if a task has ended.
    fn has_ended(&self, task: TaskId) -> bool;

    /// Returns the state of the running task's process.
    fn process(&self) -> Arc<ProcessValues>;

    /// Returns true if the world refuses the running task this number of bytes.
    fn refuses_memory(&self, bytes: usize) -> bool;

    /// Returns true if simulated processes may use one mapping of the memory that they share. By default each has its own, at
    /// another address, as real processes have.
    fn shares_mappings(&self) -> bool {
        false
    }

    /// Lets the running task take the time of its processor for some work. By default work takes no time.
    fn work(&self, _work: Work) {}
}

/// Work of a processor on the data of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of extents that were looked at: divided, counted, sorted or placed.
    pub extents: u64,
    /// Number of bytes that were copied.
    pub bytes: u64,
}

per_process! {
    /// True once a thread of this process has entered a world. Other threads need one load to find out.
    static ANY: AtomicBool = AtomicBool::new(false);
}

per_thread! {
    /// The world that this thread has entered.
    static ENTERED: RefCell<Option<Arc<dyn World>>> = const { RefCell::new(None) };
}

/// Calls `work` with this thread in a world.
pub fn enter<T>(world: Arc<dyn World>, work: impl FnOnce() -> T) -> T {
    struct Leave(Option<Arc<dyn World>>);
    impl Drop for Leave {
        fn drop(&mut self) {
            ENTERED.replace(self.0.take());
        }
    }
    ANY.store(true, Ordering::Relaxed);
    let _leave = Leave(ENTERED.replace(Some(world)));
    work()
}

/// Returns true if a thread of this process has entered a world.
#[inline(always)]
fn is_any_entered() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Returns the world of this thread; `None` if it is the system.
#[inline]
fn entered() -> Option<Arc<dyn World>> {
    if is_any_entered() { of_this_thread() } else { None }
}

/// Checks that the world of this thread, if any, grants this number of bytes, which the caller then takes from the system.
///
/// # Errors
/// The world refuses the bytes.
#[inline]
pub fn ask_for_memory(bytes: usize) -> io::Result<()> {
    match entered() {
        Some(world) if world.refuses_memory(bytes) => Err(io::ErrorKind::OutOfMemory.into()),
        _ => Ok(()),
    }
}

/// Returns true if simulated processes may use one mapping of the memory that they share.
pub fn shares_mappings() -> bool {
    entered().is_some_and(|world| world.shares_mappings())
}

/// Notes that the caller has looked at `extents` extents and copied `bytes` bytes: in a world that may take time. The system's
/// own processors need no such note.
#[inline]
pub fn work(extents: u64, bytes: u64) {
    if let Some(world) = entered() {
        world.work(Work { extents, bytes });
    }
}

#[cold]
#[inline(never)]
fn of_this_thread() -> Option<Arc<dyn World>> {
    ENTERED.try_with(|entered| entered.borrow().clone()).ok().flatten()
}
