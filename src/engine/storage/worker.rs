//! A helper thread of an aggregator that writes full windows, and reads windows ahead, while ranks exchange other
//! windows. The thread sends no messages.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::drivers::Window;
use crate::engine::storage::buffer::WindowBuffer;
use crate::engine::storage::sieve::Sieve;
use crate::engine::storage::{Storage, StorageFailure, block_size_signal, guarded};
use crate::fabric::Idle;

/// Task of the worker for a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Write the bytes.
    Write,
    /// Read the bytes; bytes behind the end of the file are zeros.
    Read,
}

/// A window to write or read.
pub struct WindowJob {
    /// Write or read the window.
    pub task: Task,
    /// Extents of the window in the file.
    pub window: Window,
    /// Memory of the window.
    pub buffer: WindowBuffer,
    /// Data sieving: decides whether gaps between the extents are written or read too.
    pub sieve: Sieve,
}

/// A window that was written or read, or failed.
#[derive(Debug)]
pub struct WindowDone {
    /// Task that was done: write or read.
    pub task: Task,
    /// Memory of the window: free for the next window after a write, with the bytes after a read.
    pub buffer: WindowBuffer,
    /// Number of bytes written; 0 after a read.
    pub bytes: u64,
    /// Time that the worker spent in the file system for this window.
    pub busy: Duration,
    /// Time when the write or read began.
    pub begin: Instant,
    /// First failure of the window, if the write or read failed.
    pub failure: Option<StorageFailure>,
}

/// The helper thread of one file on one aggregator. Dropping this value waits for all submitted windows.
pub struct Worker {
    jobs: Option<Sender<WindowJob>>,
    finished: Receiver<WindowDone>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread; it wakes the rank through `waker` when a window is done.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(storage: Arc<dyn Storage>, waker: Arc<dyn Idle>) -> std::io::Result<Self> {
        let (jobs, inbox) = channel::<WindowJob>();
        let (outbox, finished) = channel();
        let thread = std::thread::Builder::new().name("tributary worker".to_string()).spawn(move || {
            leave_single_core();
            let _quiet = block_size_signal();
            let mut failed = false;
            for job in inbox {
                let done = perform(&*storage, job, failed);
                failed |= done.failure.is_some();
                if outbox.send(done).is_err() {
                    return;
                }
                waker.wake();
            }
        })?;
        Ok(Self { jobs: Some(jobs), finished, thread: Some(thread) })
    }

    /// Submits a window. [`Worker::poll`] returns it, in the order of submission.
    pub fn submit(&self, job: WindowJob) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only when `jobs` is dropped; if it is gone nevertheless, `poll` reports it.
            let _ = jobs.send(job);
        }
    }

    /// Returns the next window that is done; `None` if no further window is done yet; `Err` if the thread has ended.
    pub fn poll(&self) -> Result<Option<WindowDone>, WorkerGone> {
        match self.finished.try_recv() {
            Ok(done) => Ok(Some(done)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(WorkerGone),
        }
    }
}

/// The helper thread ended before its time.
#[derive(Debug)]
pub struct WorkerGone;

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // `poll` has reported a panic outside of the storage, or no window was waited for.
            let _ = thread.join();
        }
    }
}

/// Makes the calling thread a helper thread of a library: it blocks the program's signals, and does not stay on the
/// single core of its rank.
pub fn leave_to_program() {
    leave_single_core();
    // If the mask cannot be set, the thread may get signals, as any thread may.
    let _ = nix::sys::signal::SigSet::all().thread_block();
}

/// Lets a helper thread leave the single core that its rank is bound to, where it would compete with a rank that spins
/// in MPI. The helper may then run on all cores that the system allows the process. A binding to several cores stays.
#[cfg(target_os = "linux")]
fn leave_single_core() {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    let this = nix::unistd::Pid::from_raw(0);
    let is_in = |set: &CpuSet| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or_default()).count();
    if sched_getaffinity(this).is_ok_and(|bound| is_in(&bound) == 1) {
        let mut all = CpuSet::new();
        (0..CpuSet::count()).for_each(|core| all.set(core).unwrap_or_default());
        // The system ignores cores that are not allowed. If it refuses, the thread stays on its core.
        let _ = sched_setaffinity(this, &all);
    }
}

#[cfg(not(target_os = "linux"))]
fn leave_single_core() {}

/// Writes or reads one window. Does nothing if `failed` is true, that is, after a failure: a full disk fails once and
/// not once a window.
fn perform(storage: &dyn Storage, job: WindowJob, failed: bool) -> WindowDone {
    let WindowJob { task, window, mut buffer, sieve } = job;
    let begin = Instant::now();
    let mut bytes = 0;
    let operation = if task == Task::Write { "write" } else { "read" };
    let outcome = guarded(operation, window.start, || match task {
        _ if failed => Ok(()),
        Task::Write => buffer.write(storage, window, sieve, &mut bytes),
        Task::Read => buffer.read(storage, window, sieve),
    });
    // Pieces of messages and of the caller's memory are released in any case.
    buffer.pieces.clear();
    WindowDone { task, buffer, bytes, busy: begin.elapsed(), begin, failure: outcome.err() }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    #[test]
    fn a_helper_leaves_the_single_core_of_its_rank() {
        let this = Pid::from_raw(0);
        let own = sched_getaffinity(this).unwrap();
        let cores: Vec<usize> = (0..CpuSet::count()).filter(|&core| own.is_set(core).unwrap()).collect();
        let mut single = CpuSet::new();
        single.set(cores[0]).unwrap();
        sched_setaffinity(this, &single).unwrap();
        let helper = std::thread::spawn(move || {
            assert_eq!(sched_getaffinity(this), Ok(single), "inherited");
            leave_single_core();
            sched_getaffinity(this).unwrap()
        });
        let helper = helper.join().unwrap();
        assert!(cores.iter().all(|&core| helper.is_set(core).unwrap()), "all of {cores:?}");
    }

    #[test]
    fn a_wider_binding_stays() {
        let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
        leave_single_core();
        let after = sched_getaffinity(Pid::from_raw(0)).unwrap();
        if (0..CpuSet::count()).filter(|&core| own.is_set(core).unwrap()).count() > 1 {
            assert_eq!(own, after);
        }
    }
}
