//! The queue of an aggregator's windows: buffers, the worker thread that writes and reads them, and the outcome.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::drivers::Window;
use crate::engine::storage::buffer::WindowBuffer;
use crate::engine::storage::sieve::Sieve;
use crate::engine::storage::worker::{Task, WindowDone, WindowJob, Worker, WorkerGone};
use crate::error::{Error, Result};
use crate::fabric::waiting::pause;
use crate::hints::Hints;
use crate::topology::Rank;

/// Outcome of one rank's file I/O in one call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of bytes written, or read before the end of the file.
    pub bytes: u64,
    /// Time that this rank spent in the file system.
    pub busy: Duration,
    /// Time that this rank waited for windows of its worker, and for bytes that it wrote before the agreement.
    pub waited: Duration,
    /// First error, if there is one.
    pub error: Option<Error>,
    /// Begin and end of the write or read of each window, in the order of submission; empty unless windows are timed.
    pub times: Vec<(Instant, Instant)>,
}

impl Outcome {
    /// Adds the bytes and time of what this rank has written or read before the agreement.
    pub fn add(&mut self, early: Option<Self>) {
        if let Some(Self { bytes, busy, .. }) = early {
            self.bytes += bytes;
            self.busy += busy;
            self.waited += busy;
        }
    }
}

/// Window buffers and the worker thread that writes and reads them. Without a worker (the file could not be opened),
/// windows are dropped, so that the exchange continues to the agreement at its end.
pub struct WindowQueue {
    worker: Option<Worker>,
    free: Vec<WindowBuffer>,
    /// Windows that have been read, in the order of submission.
    read: VecDeque<WindowBuffer>,
    made: usize,
    /// Maximum number of buffers in this call.
    limit: usize,
    in_flight: usize,
    /// Number of bytes by which the call's windows are shifted from the windows of its plan.
    shift: i64,
    hints: Hints,
    /// True if nobody else can be writing the file during the call.
    is_sole: bool,
    /// Number of bytes that the file system locks together.
    unit: u64,
    rank: Rank,
    path: PathBuf,
    outcome: Outcome,
    /// True if windows are timed.
    timed: bool,
}

impl WindowQueue {
    /// Returns a queue over `worker`, or over the error of starting it. The file system locks `unit` bytes together.
    pub fn new(worker: Result<Worker>, hints: &Hints, unit: u64, rank: Rank, path: PathBuf) -> Self {
        let (worker, error) = match worker {
            Ok(worker) => (Some(worker), None),
            Err(error) => (None, Some(error)),
        };
        let outcome = Outcome { error, ..Outcome::default() };
        let (free, read, made, in_flight, shift, is_sole) = Default::default();
        let limit = 1;
        Self {
            worker,
            free,
            read,
            made,
            limit,
            in_flight,
            shift,
            is_sole,
            hints: hints.clone(),
            unit,
            rank,
            path,
            outcome,
            timed: false,
        }
    }

    /// Turns the timing of windows on or off.
    pub fn time(&mut self, wanted: bool) {
        self.timed = wanted;
    }

    /// Begins a call: sets the shift in bytes of all windows submitted from here on, whether the call is the sole writer
    /// of the file, and the maximum number of buffers.
    pub fn begin_call(&mut self, shift: i64, is_sole: bool, limit: usize) {
        (self.shift, self.is_sole, self.limit) = (shift, is_sole, limit.max(1));
        // Many small buffers of a call before would otherwise grow to large ones.
        while self.made > self.limit && self.free.pop().is_some() {
            self.made -= 1;
        }
    }

    /// Returns the shift of the windows in bytes.
    pub fn shift(&self) -> i64 {
        self.shift
    }

    /// Returns the maximum number of buffers.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns true if [`WindowQueue::buffer`] would return a buffer without waiting.
    pub fn has_room(&self) -> bool {
        !self.failed() && (!self.free.is_empty() || self.made < self.limit())
    }

    /// Returns true if the call has failed: no further window is placed or read.
    fn failed(&self) -> bool {
        self.worker.is_none() || self.outcome.error.is_some()
    }

    /// Returns the number of buffers allocated.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Returns a buffer for a window of `len` bytes; waits until one is free. Returns `None` once the outcome has an
    /// error (no worker, no memory, a failed write): no further window of the call is then placed or read.
    pub async fn buffer(&mut self, len: u64) -> Option<WindowBuffer> {
        loop {
            self.collect();
            if self.failed() {
                return None;
            }
            let buffer = match self.free.pop() {
                None if self.made < self.limit() => {
                    self.made += 1;
                    Some(WindowBuffer::default())
                }
                free => free,
            };
            if let Some(mut buffer) = buffer {
                if buffer.reserve(len).is_err() {
                    self.free.push(WindowBuffer::default());
                    self.no_memory(len);
                    return None;
                }
                return Some(buffer);
            }
            self.wait().await;
        }
    }

    /// Records that there is no memory for a window of `len` bytes, an error of the call.
    pub fn no_memory(&mut self, len: u64) {
        let what = "a window; a smaller cb_buffer_size needs less".to_string();
        self.outcome.error.get_or_insert(Error::NoMemory { rank: self.rank, bytes: len, what });
    }

    /// Submits a window to be written or read.
    pub fn submit(&mut self, task: Task, window: Window, buffer: WindowBuffer) {
        if let Some(worker) = &self.worker {
            let sieve = match task {
                Task::Write => Sieve::of_write(self.hints.ds_write, self.unit, self.is_sole),
                Task::Read => Sieve::new(self.hints.ds_read, self.unit),
            };
            worker.submit(WindowJob { task, window: window.moved(self.shift), buffer, sieve });
            self.in_flight += 1;
        }
    }

    /// Waits for the oldest window submitted for reading, and returns it; `None` if the worker is gone.
    pub async fn read(&mut self) -> Option<WindowBuffer> {
        loop {
            self.collect();
            let read = self.read.pop_front();
            if read.is_some() || self.in_flight == 0 {
                return read;
            }
            self.wait().await;
        }
    }

    /// Takes back the buffer of a window whose bytes have been sent.
    pub fn give_back(&mut self, buffer: WindowBuffer) {
        self.free.push(buffer);
    }

    /// Waits for all windows and returns the outcome. The queue is then ready for the next call.
    pub async fn finish(&mut self) -> Outcome {
        while self.in_flight > 0 {
            self.collect();
            if self.in_flight > 0 {
                self.wait().await;
            }
        }
        std::mem::take(&mut self.outcome)
    }

    /// Waits until the rank is woken, and counts the time.
    async fn wait(&mut self) {
        let begin = Instant::now();
        pause().await;
        self.outcome.waited += begin.elapsed();
    }

    /// Collects finished windows. If the worker is gone, its windows are lost; the exchange continues, and the
    /// agreement reports the error.
    fn collect(&mut self) {
        while let Some(worker) = &self.worker {
            match worker.poll() {
                Ok(Some(done)) => self.take(done),
                Ok(None) => return,
                Err(WorkerGone) => {
                    self.worker = None;
                    self.made -= std::mem::take(&mut self.in_flight);
                    let gone = Error::Internal { rank: self.rank, what: "the worker thread is gone".to_string() };
                    self.outcome.error.get_or_insert(gone);
                }
            }
        }
    }

    fn take(&mut self, done: WindowDone) {
        self.in_flight -= 1;
        self.outcome.bytes += done.bytes;
        self.outcome.busy += done.busy;
        if self.timed {
            self.outcome.times.push((done.begin, done.begin + done.busy));
        }
        if let (None, Some(failure)) = (&self.outcome.error, done.failure) {
            self.outcome.error = Some(failure.into_error(self.rank, &self.path));
        }
        match done.task {
            Task::Write => self.free.push(done.buffer),
            Task::Read => self.read.push_back(done.buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without this, a failed read would open one window after the other.
    #[test]
    fn there_is_no_room_once_the_call_has_failed() {
        let error = Error::state("the file was removed or renamed after it was opened");
        let queue = WindowQueue::new(Err(error), &Hints::default(), 1, 0, PathBuf::new());
        assert!(!queue.has_room());
    }
}
