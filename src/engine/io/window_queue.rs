//! The queue of an aggregator's windows: their memory, the worker that writes and reads them, and the outcome.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;

use crate::drivers::Window;
use crate::engine::io::present::Coverage;
use crate::engine::io::sieve::{Segment, Sieve};
use crate::engine::io::worker::{Task, WindowDone, WindowJob, Worker, WorkerGone};
use crate::engine::io::{Moved, Storage, StorageFailure, write_all_pieces};
use crate::engine::trace::counts::Outcome;
use crate::error::Error;
use crate::fabric::pool::Block;
use crate::fabric::waiting::pause;
use crate::topology::Rank;
use crate::world::clock;

/// Window buffers and the worker that writes and reads them. Without a worker (the file could not be opened),
/// windows are dropped, so that the exchange continues to the agreement at its end.
pub struct WindowQueue {
    worker: Option<Worker>,
    free: Vec<WindowBuffer>,
    /// Windows that have been read, by number.
    read: BTreeMap<u64, WindowBuffer>,
    /// Number of windows submitted for reading.
    asked: u64,
    /// Number of the next window that [`WindowQueue::read`] returns.
    next_read: u64,
    made: usize,
    /// Maximum number of buffers in this call.
    limit: usize,
    in_flight: usize,
    /// Number of bytes by which the call's windows are shifted from the windows of its plan.
    shift: i64,
    /// Data sieving of reads.
    read_sieve: Sieve,
    /// Data sieving of the writes of the call.
    write_sieve: Sieve,
    rank: Rank,
    path: PathBuf,
    outcome: Outcome,
    /// True if windows are timed.
    timed: bool,
}

impl WindowQueue {
    /// Returns a queue over `worker`, or over the error of starting it. `read_sieve` is the data sieving of reads.
    pub fn new(worker: Result<Worker, Error>, read_sieve: Sieve, rank: Rank, path: PathBuf) -> Self {
        let (worker, error) = match worker {
            Ok(worker) => (Some(worker), None),
            Err(error) => (None, Some(error)),
        };
        let outcome = Outcome { error, ..Outcome::default() };
        let (free, read, made, in_flight, shift) = Default::default();
        let (asked, next_read) = Default::default();
        let (limit, write_sieve) = (1, read_sieve.clone());
        Self {
            worker,
            free,
            read,
            asked,
            next_read,
            made,
            limit,
            in_flight,
            shift,
            read_sieve,
            write_sieve,
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

    /// Begins a call: sets the shift in bytes of all windows submitted from here on, the data sieving of its writes, and
    /// the maximum number of buffers.
    pub fn begin_call(&mut self, shift: i64, write_sieve: Sieve, limit: usize) {
        (self.shift, self.write_sieve, self.limit) = (shift, write_sieve, limit.max(1));
        // Free surplus buffers: an earlier call may have made many small ones, which would all grow.
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
    pub fn has_room(&mut self) -> bool {
        self.collect();
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
        if let Some(worker) = &mut self.worker {
            let (sieve, number) = match task {
                Task::Write => (self.write_sieve.clone(), 0),
                Task::Read => (self.read_sieve.clone(), self.asked),
            };
            self.asked += u64::from(task == Task::Read);
            worker.submit(WindowJob { task, window: window.moved(self.shift), buffer, sieve, number });
            self.in_flight += 1;
        }
    }

    /// Returns true if [`WindowQueue::read`] would return without waiting.
    pub fn has_read(&mut self) -> bool {
        self.collect();
        self.in_flight == 0 || self.read.first_key_value().is_some_and(|(number, _)| *number == self.next_read)
    }

    /// Waits for the oldest window submitted for reading, and returns it; `None` if the worker is gone.
    pub async fn read(&mut self) -> Option<WindowBuffer> {
        loop {
            self.collect();
            // Threads may read a later window sooner.
            if let Some(oldest) = self.read.first_entry().filter(|first| *first.key() == self.next_read) {
                self.next_read += 1;
                return Some(oldest.remove());
            }
            if self.in_flight == 0 {
                return None;
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
        // Threads take windows in the order of submission, but may finish them in another.
        self.outcome.times.sort_unstable();
        std::mem::take(&mut self.outcome)
    }

    /// Waits until the rank is woken, and counts the time.
    async fn wait(&mut self) {
        let begin = clock::now();
        pause().await;
        self.outcome.waited += clock::since(begin);
    }

    /// Collects finished windows. If the worker is gone, its windows are lost; the exchange continues, and the
    /// agreement reports the error.
    fn collect(&mut self) {
        while let Some(worker) = &mut self.worker {
            match worker.poll() {
                Ok(Some(done)) => self.take(done),
                Ok(None) => return,
                Err(WorkerGone) => {
                    self.worker = None;
                    self.made -= std::mem::take(&mut self.in_flight);
                    let gone = Error::internal(self.rank, "the worker thread is gone");
                    self.outcome.error.get_or_insert(gone);
                }
            }
        }
    }

    fn take(&mut self, done: WindowDone) {
        self.in_flight -= 1;
        self.outcome.bytes += done.moved.bytes;
        self.outcome.calls += done.moved.calls;
        self.outcome.busy += done.busy;
        self.outcome.spent += done.took;
        if self.timed {
            self.outcome.times.push((done.begin, done.begin + done.took));
        }
        // Several threads may fail: the error of the lowest offset counts, whichever is the first.
        if let Some(failure) = done.failure {
            let error = failure.into_error(self.rank, &self.path);
            let is_before =
                |known: &Error| matches!((place(&error), place(known)), (Some(at), Some(known)) if at < known);
            if self.outcome.error.as_ref().is_none_or(is_before) {
                self.outcome.error = Some(error);
            }
        }
        match done.task {
            Task::Write => self.free.push(done.buffer),
            Task::Read => drop(self.read.insert(done.number, done.buffer)),
        }
    }
}

/// Returns the offset at which a call on the file failed; None if the error has none.
fn place(error: &Error) -> Option<u64> {
    match error {
        Error::Io { offset, .. } => *offset,
        _ => None,
    }
}

/// Bytes of a window that lie in a message or in the caller's memory.
#[derive(Debug)]
pub struct PieceOfWindow {
    /// Position of the bytes in the window.
    pub position: u64,
    /// The bytes, at least one.
    pub bytes: Bytes,
}

/// Memory of one window of an aggregator, and the marks of bytes with data.
#[derive(Debug, Default)]
pub struct WindowBuffer {
    /// Bytes of the window.
    pub bytes: Block,
    /// Marks of the bytes that have data.
    pub coverage: Coverage,
    /// If a full window is written without a copy: its pieces, ascending; `bytes` is then unused.
    pub pieces: Vec<PieceOfWindow>,
}

impl WindowBuffer {
    /// Makes room for `len` bytes, which have no defined value yet.
    ///
    /// # Errors
    /// The system has no memory left.
    pub fn reserve(&mut self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        if len > self.bytes.capacity() {
            self.bytes = Block::default();
            self.bytes = Block::take(len)?;
        }
        self.bytes.set_len(len.max(self.bytes.len()));
        Ok(())
    }

    /// Writes the bytes of a window that are present, like [`Segment::write`].
    pub fn write(
        &mut self,
        storage: &dyn Storage,
        window: Window,
        sieve: &Sieve,
        written: &mut Moved,
    ) -> Result<(), StorageFailure> {
        if !self.pieces.is_empty() {
            return self.write_pieces(storage, window, written);
        }
        self.for_each_segment(window, |mut segment| segment.write(storage, sieve, written))
    }

    /// Writes a window from its pieces, which fill it.
    fn write_pieces(&self, storage: &dyn Storage, window: Window, written: &mut Moved) -> Result<(), StorageFailure> {
        let (mut pieces, mut end) = (&self.pieces[..], 0);
        for extent in window.segments() {
            end += extent.len;
            let (here, rest) = pieces.split_at(pieces.partition_point(|piece| piece.position < end));
            write_all_pieces(storage, here, extent.offset, written)?;
            pieces = rest;
        }
        Ok(())
    }

    /// Reads the bytes of a window that ranks want, like [`Segment::read`].
    pub fn read(&mut self, storage: &dyn Storage, window: Window, sieve: &Sieve) -> Result<(), StorageFailure> {
        self.for_each_segment(window, |mut segment| segment.read(storage, sieve))
    }

    fn for_each_segment(
        &mut self,
        window: Window,
        mut act: impl FnMut(Segment<'_, Coverage>) -> Result<(), StorageFailure>,
    ) -> Result<(), StorageFailure> {
        let mut first = 0;
        for extent in window.segments() {
            let bytes = &mut self.bytes[first as usize..][..extent.len as usize];
            act(Segment { offset: extent.offset, bytes, present: &self.coverage, first })?;
            first += extent.len;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::io::call_cost::CallCost;
    use crate::hints::Switch;

    /// Without this, a failed read would open one window after the other.
    #[test]
    fn there_is_no_room_once_the_call_has_failed() {
        let error = Error::state("the file was removed or renamed after it was opened");
        let sieve = Sieve::new(Switch::Automatic, CallCost::fixed(1).into());
        let mut queue = WindowQueue::new(Err(error), sieve, 0, PathBuf::new());
        assert!(!queue.has_room());
    }
}
