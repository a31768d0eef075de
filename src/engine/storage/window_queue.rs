//! The file side of an aggregator in one call: window buffers, the worker that carries them to the file and from it, and
//! what has become of the windows.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use crate::drivers::Window;
use crate::engine::data::buffer::WindowBuffer;
use crate::engine::storage::sieve::Sieve;
use crate::engine::storage::worker::{Job, Task, WindowDone, Worker, WorkerGone};
use crate::error::{Error, Result};
use crate::fabric::waiting::pause;
use crate::hints::Hints;
use crate::topology::Rank;

/// What a rank wrote or read in one call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Bytes that got into the file, or that the file had for this rank.
    pub bytes: u64,
    /// Time spent in the file system.
    pub busy: Duration,
    /// What went wrong first.
    pub error: Option<Error>,
}

/// Window buffers and the worker they go to. With no worker (the file could not be opened) windows are dropped, so that
/// the exchange goes on to its agreed end.
pub struct WindowQueue {
    worker: Option<Worker>,
    free: Vec<WindowBuffer>,
    /// Windows that are read, in the order they were asked for.
    read: VecDeque<WindowBuffer>,
    made: usize,
    in_flight: usize,
    /// How far the windows of the call lie behind those of its plan, in bytes.
    moved: i64,
    hints: Hints,
    /// Bytes that the file system locks together.
    unit: u64,
    rank: Rank,
    path: PathBuf,
    outcome: Outcome,
}

impl WindowQueue {
    /// A queue over `worker`, or over the reason why there is none; the file system locks `unit` bytes together.
    pub fn new(worker: Result<Worker>, hints: &Hints, unit: u64, rank: Rank, path: PathBuf) -> Self {
        let (worker, error) = match worker {
            Ok(worker) => (Some(worker), None),
            Err(error) => (None, Some(error)),
        };
        let outcome = Outcome { error, ..Outcome::default() };
        let (free, read, made, in_flight, moved) = Default::default();
        Self { worker, free, read, made, in_flight, moved, hints: hints.clone(), unit, rank, path, outcome }
    }

    /// Windows that are handed over from here on lie so many bytes behind their places in the plan.
    pub fn move_windows(&mut self, by: i64) {
        self.moved = by;
    }

    /// Most buffers that may exist.
    pub fn limit(&self) -> usize {
        self.hints.write_buffers.max(1)
    }

    /// Whether [`WindowQueue::buffer`] would give one without waiting.
    pub fn has_room(&self) -> bool {
        !self.failed() && (!self.free.is_empty() || self.made < self.limit())
    }

    /// Whether no further window of the call is placed, or read.
    fn failed(&self) -> bool {
        self.worker.is_none() || self.outcome.error.is_some()
    }

    /// How many buffers there are.
    pub fn made(&self) -> usize {
        self.made
    }

    /// A buffer for a window of `len` bytes; waits until one is free. None once the outcome has an error (no worker, no
    /// memory, a failed write): then no further window of the call is placed, or read.
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
            pause().await;
        }
    }

    /// There is no memory for a window of `len` bytes: an error of the call.
    pub fn no_memory(&mut self, len: u64) {
        let what = "a window; a smaller cb_buffer_size needs less".to_string();
        self.outcome.error.get_or_insert(Error::NoMemory { rank: self.rank, bytes: len, what });
    }

    /// Hands a window over, to be written or read.
    pub fn submit(&mut self, task: Task, window: Window, buffer: WindowBuffer) {
        if let Some(worker) = &self.worker {
            let hint = match task {
                Task::Write => self.hints.ds_write,
                Task::Read => self.hints.ds_read,
            };
            let sieve = Sieve::new(hint, self.unit);
            worker.submit(Job { task, window: window.moved(self.moved), buffer, sieve });
            self.in_flight += 1;
        }
    }

    /// The window that was asked for first, when it is read; none if the worker is gone.
    pub async fn read(&mut self) -> Option<WindowBuffer> {
        loop {
            self.collect();
            let read = self.read.pop_front();
            if read.is_some() || self.in_flight == 0 {
                return read;
            }
            pause().await;
        }
    }

    /// Takes back the buffer of a window that has been delivered.
    pub fn give_back(&mut self, buffer: WindowBuffer) {
        self.free.push(buffer);
    }

    /// Waits for all windows and returns what became of them; the queue is then ready for the next call.
    pub async fn finish(&mut self) -> Outcome {
        while self.in_flight > 0 {
            self.collect();
            if self.in_flight > 0 {
                pause().await;
            }
        }
        std::mem::take(&mut self.outcome)
    }

    /// Takes back what is done. A worker that is gone is no reason to leave the exchange either: its windows are lost, and
    /// the agreement says so.
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
        if let (None, Some(failure)) = (&self.outcome.error, done.failure) {
            self.outcome.error = Some(failure.of(self.rank, &self.path));
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

    /// Or else a read that has failed would open window after window that nobody asks for.
    #[test]
    fn there_is_no_room_once_the_call_has_failed() {
        let error = Error::argument("file", "is gone", "to be there");
        let queue = WindowQueue::new(Err(error), &Hints::default(), 1, 0, PathBuf::new());
        assert!(!queue.has_room());
    }
}
