//! The file side of an aggregator in one call: buffers, the writer, and what has become of the windows.

use std::path::PathBuf;
use std::time::Duration;

use super::storage::Failure;
use super::writer::{WindowBuffer, Writer, WriterGone, Written};
use crate::drivers::Window;
use crate::error::{Error, Result};
use crate::fabric::execute::pause;
use crate::hints::Switch;
use crate::topology::Rank;

/// What an aggregator wrote in one call.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Bytes that got into the file.
    pub bytes: u64,
    /// Time spent in the file system.
    pub busy: Duration,
    /// What went wrong first.
    pub error: Option<Error>,
}

/// Window buffers and the writer they go to. With no writer (the file could not be opened) windows are dropped, so that
/// the exchange goes on to its agreed end.
pub struct Sink {
    writer: Option<Writer>,
    free: Vec<WindowBuffer>,
    made: usize,
    /// Most buffers that may exist.
    limit: usize,
    in_flight: usize,
    sieve: Switch,
    rank: Rank,
    path: PathBuf,
    outcome: Outcome,
}

impl Sink {
    /// A sink over `writer`, or over the reason why there is none.
    pub fn new(writer: Result<Writer>, limit: usize, sieve: Switch, rank: Rank, path: PathBuf) -> Self {
        let (writer, error) = match writer {
            Ok(writer) => (Some(writer), None),
            Err(error) => (None, Some(error)),
        };
        let outcome = Outcome { error, ..Outcome::default() };
        Self { writer, free: Vec::new(), made: 0, limit: limit.max(1), in_flight: 0, sieve, rank, path, outcome }
    }

    /// A buffer for a window of `len` bytes; waits until one is free. None once the outcome has an error (no writer, no
    /// memory, a failed write): then no further window of the call is placed.
    pub async fn buffer(&mut self, len: u64) -> Option<WindowBuffer> {
        loop {
            self.collect();
            if self.writer.is_none() || self.outcome.error.is_some() {
                return None;
            }
            let buffer = match self.free.pop() {
                None if self.made < self.limit => {
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
        let given = format!("no memory for a window of {len} bytes on rank {}", self.rank);
        self.outcome.error.get_or_insert(Error::argument("cb_buffer_size", given, "a smaller one"));
    }

    /// Hands a placed window over.
    pub fn submit(&mut self, window: Window, buffer: WindowBuffer) {
        if let Some(writer) = &self.writer {
            writer.submit(window, buffer, self.sieve);
            self.in_flight += 1;
        }
    }

    /// Waits for all windows and returns what became of them; the sink is then ready for the next call.
    pub async fn finish(&mut self) -> Outcome {
        while self.in_flight > 0 {
            self.collect();
            if self.in_flight > 0 {
                pause().await;
            }
        }
        std::mem::take(&mut self.outcome)
    }

    /// Takes back what is written. A writer that is gone is no reason to leave the exchange either: its windows are lost,
    /// and the agreement says so.
    fn collect(&mut self) {
        while let Some(writer) = &self.writer {
            match writer.poll() {
                Ok(Some(written)) => self.take(written),
                Ok(None) => return,
                Err(WriterGone) => {
                    self.writer = None;
                    self.made -= std::mem::take(&mut self.in_flight);
                    let gone = Error::Internal { rank: self.rank, what: "the writer thread is gone".to_string() };
                    self.outcome.error.get_or_insert(gone);
                }
            }
        }
    }

    fn take(&mut self, written: Written) {
        self.in_flight -= 1;
        self.outcome.bytes += written.bytes;
        self.outcome.busy += written.busy;
        if let (None, Some(Failure { operation, offset, cause })) = (&self.outcome.error, written.failure) {
            self.outcome.error = Some(Error::io(self.rank, operation, &self.path, offset, &cause));
        }
        self.free.push(written.buffer);
    }
}
