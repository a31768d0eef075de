//! Helper threads of an aggregator that write full windows, and read windows ahead, while ranks exchange other windows. There
//! is one thread, or several if the file is slow. The threads send no messages.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use crate::drivers::Window;
use crate::engine::choose::{MOST_WRITERS, SLOW_FILE, SLOW_WRITE};
use crate::engine::io::sieve::Sieve;
use crate::engine::io::window_queue::WindowBuffer;
use crate::engine::io::{Moved, Storage, StorageFailure, block_size_signal, guarded};
use crate::error::FileOperation;
use crate::fabric::Idle;
use crate::world::clock;
use crate::world::jobs::{self, Job, JobReceiver, JobSender};
use crate::world::waits::SleepCount;

/// Task of the worker for a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Write the bytes.
    Write,
    /// Read the bytes; bytes past the end of the file are zeros.
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
    /// Number of the window among the windows to read.
    pub number: u64,
}

/// A window that was written or read, or failed.
#[derive(Debug)]
pub struct WindowDone {
    /// Task that was done: write or read.
    pub task: Task,
    /// Memory of the window: free for the next window after a write, with the bytes after a read.
    pub buffer: WindowBuffer,
    /// Number of the window among the windows to read.
    pub number: u64,
    /// What was written; nothing after a read.
    pub moved: Moved,
    /// Time from the begin to the end of the write or read.
    pub took: Duration,
    /// Time in which any thread was in the file system since the previous window ended.
    pub busy: Duration,
    /// Time when the write or read began.
    pub begin: Instant,
    /// First failure of the window, if the write or read failed.
    pub failure: Option<StorageFailure>,
}

/// The helper threads of one file on one aggregator. Dropping this value waits for all submitted windows.
pub struct Worker {
    jobs: JobSender<WindowJob>,
    finished: Receiver<WindowDone>,
    outbox: Sender<WindowDone>,
    threads: Vec<Job>,
    /// True if the system has refused another thread.
    is_refused: bool,
    shared: Arc<WorkerShared>,
}

/// State that the helper threads of a file share.
struct WorkerShared {
    storage: Arc<dyn Storage>,
    waker: Arc<dyn Idle>,
    inbox: JobReceiver<WindowJob>,
    /// Number of windows submitted and not done.
    waiting: AtomicU32,
    /// Time in which at least one thread was in the file system.
    busy: Mutex<Busy>,
    /// True if the last window took so long that several threads write or read at a time.
    is_slow: AtomicBool,
    /// True after a failure: later windows are dropped.
    failed: AtomicBool,
}

/// Measures the time in which at least one thread is in the file system.
struct Busy {
    /// Number of windows that threads are writing or reading.
    running: u32,
    /// Time up to which the busy time was counted; used only while `running` is above 0.
    counted: Instant,
}

impl Busy {
    /// Notes that a thread begins a window at `now`.
    fn begin(&mut self, now: Instant) {
        if self.running == 0 {
            self.counted = now;
        }
        self.running += 1;
    }

    /// Notes that a thread has ended a window. Returns the busy time that was not counted yet.
    fn end(&mut self) -> Duration {
        self.running -= 1;
        let now = clock::now();
        now - std::mem::replace(&mut self.counted, now)
    }
}

impl Worker {
    /// Starts a thread; it wakes the rank through `waker` when a window is done.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start(storage: Arc<dyn Storage>, waker: Arc<dyn Idle>) -> std::io::Result<Self> {
        let (jobs, inbox) = jobs::queue();
        let (outbox, finished) = unbounded();
        let (waiting, is_slow, failed) = Default::default();
        let busy = Mutex::new(Busy { running: 0, counted: clock::now() });
        let shared = Arc::new(WorkerShared { storage, waker, inbox, waiting, busy, is_slow, failed });
        let mut worker = Self { jobs, finished, outbox, threads: Vec::new(), is_refused: false, shared };
        worker.start_thread()?;
        Ok(worker)
    }

    fn start_thread(&mut self) -> std::io::Result<()> {
        let (shared, outbox) = (self.shared.clone(), self.outbox.clone());
        self.threads.push(jobs::start("tributary worker", move || shared.work(&outbox))?);
        Ok(())
    }

    /// Submits a window. [`Worker::poll`] returns it.
    pub fn submit(&mut self, job: WindowJob) {
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        // The threads end only when `jobs` does; if they are gone nevertheless, `poll` reports it.
        self.jobs.send(job);
        self.start_more();
    }

    /// Starts more threads if the file is slow and there are windows for them.
    fn start_more(&mut self) {
        if self.shared.is_slow.load(Ordering::Relaxed) {
            let wanted = self.shared.waiting.load(Ordering::Relaxed).min(MOST_WRITERS) as usize;
            // If the system starts no thread, the existing threads do the work.
            while self.threads.len() < wanted && !self.is_refused {
                self.is_refused = self.start_thread().is_err();
            }
        }
    }

    /// Returns a window that is done; `None` if no further window is done yet; `Err` if a thread has ended. Starts more threads once
    /// a window has shown that the file is slow.
    pub fn poll(&mut self) -> Result<Option<WindowDone>, WorkerGone> {
        self.start_more();
        match self.finished.try_recv() {
            Ok(done) => Ok(Some(done)),
            Err(TryRecvError::Empty) if !self.threads.iter().any(Job::is_finished) => Ok(None),
            Err(_) => Err(WorkerGone),
        }
    }
}

impl WorkerShared {
    /// Writes and reads windows until no more can come.
    fn work(&self, outbox: &Sender<WindowDone>) {
        jobs::leave_single_core();
        let _quiet = block_size_signal();
        while let Some(job) = self.inbox.receive() {
            let (pace, len) = (Pace::begin(), job.window.len());
            let busy = || self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            busy().begin(pace.since());
            let mut done = perform(&*self.storage, job, self.failed.load(Ordering::Relaxed), pace.since());
            done.busy = busy().end();
            let (took, is_slow) = pace.end(len);
            done.took = took;
            self.is_slow.store(is_slow, Ordering::Relaxed);
            self.failed.fetch_or(done.failure.is_some(), Ordering::Relaxed);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            if outbox.send(done).is_err() {
                return;
            }
            self.waker.wake();
        }
    }
}

/// A helper thread ended before its time.
#[derive(Debug)]
pub struct WorkerGone;

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs.end();
        // `poll` has reported a panic outside of the storage, or no window was waited for.
        self.threads.drain(..).for_each(Job::join);
    }
}

/// Writes or reads one window. Does nothing if `failed` is true, that is, after a failure: a full disk fails once and
/// not once a window.
fn perform(storage: &dyn Storage, job: WindowJob, failed: bool, begin: Instant) -> WindowDone {
    let WindowJob { task, window, mut buffer, sieve, number } = job;
    let mut moved = Moved::default();
    let operation = if task == Task::Write { FileOperation::Write } else { FileOperation::Read };
    let outcome = guarded(operation, window.start, || match task {
        _ if failed => Ok(()),
        Task::Write => buffer.write(storage, window, &sieve, &mut moved),
        Task::Read => buffer.read(storage, window, &sieve),
    });
    // Pieces of messages and of the caller's memory are released in any case.
    buffer.pieces.clear();
    let (took, busy) = Default::default();
    WindowDone { task, buffer, number, moved, took, busy, begin, failure: outcome.err() }
}

/// Measures calls on a file of the calling thread, and finds out whether the file is slow: whether the calls wait for
/// something other than a core or a copy.
pub struct Pace {
    begin: Instant,
    sleeps: SleepCount,
}

impl Pace {
    /// Begins to measure.
    pub fn begin() -> Self {
        Self { begin: clock::now(), sleeps: SleepCount::begin() }
    }

    /// Returns the time at which the calls began.
    pub fn since(&self) -> Instant {
        self.begin
    }

    /// Ends the calls, which moved windows of `bytes` bytes in all. Returns their time, and true if the file is slow: the
    /// thread has slept, and not only lost its core.
    pub fn end(self, bytes: u64) -> (Duration, bool) {
        self.end_of(bytes, false)
    }

    /// Ends the calls like [`Pace::end`]. If `are_slow`, calls on the file are known to take long; then bytes need not.
    pub fn end_of(self, bytes: u64, are_slow: bool) -> (Duration, bool) {
        let took = clock::since(self.begin);
        let are_slow = are_slow || took.as_nanos() > u128::from(bytes) * u128::from(SLOW_FILE);
        (took, are_slow && took > SLOW_WRITE && self.sleeps.has_slept())
    }
}
