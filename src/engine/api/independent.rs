//! What one rank does to the file without the others, and the size of the file.
//!
//! Nothing is cached: what a call here has written is there for every rank's next call, collective or not, once the
//! caller has made sure that this comes after that (a barrier, a collective call).

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink, Source};
use crate::collectives::allreduce;
use crate::device;
use crate::drivers::Mode;
use crate::engine::api::file::File;
use crate::engine::api::staging::Target;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Failure, guarded, read_present, without_size_signal, write_all};
use crate::error::{About, Error, IoClass, Result};
use crate::schedule::ReduceOp;

impl File {
    /// Writes `bytes` at `offset`. This rank alone: no message is sent, and the rank's own thread does the I/O. Returns how
    /// many bytes it wrote, which is all of them.
    ///
    /// # Errors
    /// An end beyond 2^63 - 1, a file opened for reading, the system's error on this rank; or an operation was dropped in
    /// the middle. Some of the bytes may be in the file then.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<u64> {
        self.write_at_from(offset, bytes.into())
    }

    /// As [`File::write_at`], of all of `source`, which may be memory of a device.
    ///
    /// # Errors
    /// As [`File::write_at`]; or memory of a device that cannot be copied.
    pub fn write_at_from(&mut self, offset: u64, source: Source<'_>) -> Result<u64> {
        self.usable()?;
        self.writable("write", offset)?;
        let len = source.span() as u64;
        check_range(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut staged = Vec::new();
        if device::may_be() {
            self.stage_write(&BufferLayout::Contiguous, len, source, &mut staged)?;
        }
        let bytes = if staged.is_empty() { source.piece(0, len) } else { &staged };
        let storage = self.storage()?;
        let _quiet = without_size_signal();
        let mut written = 0;
        let outcome = guarded("write", offset, || write_all(&*storage, bytes, offset, &mut written));
        self.told(outcome.map(|()| written))
    }

    /// Reads into `bytes` from `offset` on. This rank alone, as [`File::write_at`]. Returns how many bytes the file had
    /// there; those behind its end stay as they were.
    ///
    /// # Errors
    /// As [`File::write_at`]; what the buffer holds is of no meaning then.
    pub fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<u64> {
        self.read_at_into(offset, bytes.into())
    }

    /// As [`File::read_at`], into all of `sink`, which may be memory of a device.
    ///
    /// # Errors
    /// As [`File::read_at`]; or memory of a device that cannot be copied.
    pub fn read_at_into(&mut self, offset: u64, sink: Sink<'_>) -> Result<u64> {
        self.usable()?;
        let len = sink.span() as u64;
        let file = Extents::contiguous(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut target = Target::new(&BufferLayout::Contiguous, sink);
        if device::may_be() {
            self.stage_read(&mut target, len)?;
        }
        let storage = self.storage()?;
        let (_, mut sink) = target.memory();
        let read = guarded("read", offset, || read_present(&*storage, sink.piece(0, len), offset));
        let mut outcome = Outcome { bytes: self.told(read)?, ..Outcome::default() };
        self.deliver(&mut target, &file, &mut outcome);
        outcome.error.map_or(Ok(outcome.bytes), Err)
    }

    /// The size of the file in bytes, as the system tells this rank now. This rank alone.
    ///
    /// # Errors
    /// A device or a pipe, which has no size; the system's error; or an operation was dropped in the middle.
    pub fn size(&mut self) -> Result<u64> {
        self.usable()?;
        let storage = self.storage()?;
        let size = || storage.size().map_err(|cause| Failure { operation: "stat", offset: 0, cause });
        match self.told(guarded("stat", 0, size))? {
            u64::MAX => Err(Error::argument("size of the file", "a device or a pipe has none", "a regular file")),
            size => Ok(size),
        }
    }

    /// Makes the file `len` bytes long: cut there, or zeros behind what there was. Collective: rank 0 does it when all ranks
    /// have come, and all return when it is done. Two allreduces, 4 ceil(log2 p) t_s, and what agreement on an error costs.
    ///
    /// # Errors
    /// The same on every rank: different lengths, a length beyond 2^63 - 1, a file opened for reading, the system's on
    /// rank 0; or an operation was dropped in the middle.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(self.complete()))?;
        let mut lens = [len; 2];
        waiting.complete(pin!(allreduce(&mut self.endpoint, &[ReduceOp::Min, ReduceOp::Max], &mut lens)))?;
        if lens[0] != lens[1] {
            let given = format!("ranks gave {} and {}", lens[0], lens[1]);
            let differ = Error::argument("length of the file", given, "the same on all ranks");
            return Err(differ.about(About::FileSize));
        }
        check_range(len, 0)?;
        let set = if self.endpoint.rank() == 0 { self.set_own_len(len) } else { Ok(()) };
        self.agree(set)
    }

    fn set_own_len(&mut self, len: u64) -> Result<()> {
        self.writable("truncate", len)?;
        let storage = self.storage()?;
        let _quiet = without_size_signal();
        let failure = |cause| Failure { operation: "truncate", offset: len, cause };
        self.told(guarded("truncate", len, || storage.set_len(len).map_err(failure)))
    }

    /// What a file opened for reading says to a change.
    fn writable(&self, operation: &str, offset: u64) -> Result<()> {
        if self.setup.mode != Mode::Read {
            return Ok(());
        }
        Err(Error::Io {
            rank: self.endpoint.rank(),
            operation: operation.to_string(),
            path: self.setup.path.display().to_string(),
            offset,
            class: IoClass::ReadOnly,
            cause: "it was opened with Mode::Read".to_string(),
        })
    }

    /// A failure as this rank's error.
    fn told<T>(&self, outcome: std::result::Result<T, Failure>) -> Result<T> {
        outcome.map_err(|failure| failure.of(self.endpoint.rank(), &self.setup.path))
    }
}

/// The rule for all extents: no end beyond 2^63 - 1.
fn check_range(offset: u64, len: u64) -> Result<()> {
    Extents::contiguous(offset, len).map(|_| ())
}
