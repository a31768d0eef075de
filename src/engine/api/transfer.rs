//! Moves bytes between memory and file: the collective write and read, a call that takes part with an error instead, and
//! the independent writes and reads of one rank.
//!
//! Independent calls do not cache. Every later call of any rank sees the bytes that a call has written, if the caller
//! orders the two calls (by a barrier or a collective call). On file systems whose clients cache independently
//! ([`handle`](super::super::handle)), a rank of another host sees them after a collective call or [`File::sync`].

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink, Source};
use crate::device;
use crate::drivers::Mode;
use crate::engine::api::operation::Operation;
use crate::engine::call::CallAccess;
use crate::engine::direction::Direction;
use crate::engine::file::File;
use crate::engine::plan;
use crate::engine::record::report::CallReport;
use crate::engine::staging::{CallMemory, ReadTarget, stage_write};
use crate::engine::storage::window_queue::Outcome;
use crate::engine::ways::windows::sorted;
use crate::error::{Error, FileOperation, Result};

/// The result of a collective read on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// Number of this rank's bytes before the end of the file. The rest of the buffer is unchanged.
    pub bytes: u64,
    /// The report of the call; the same on all ranks.
    pub call: CallReport,
}

impl File {
    /// Writes `buffer` to `extents` of the file, together with all ranks. `layout` is the layout of `buffer`; the call
    /// accesses only its bytes. Collective; a rank without data passes no extents. The hint `trib_overlap` decides
    /// whose bytes stay if ranks overlap.
    ///
    /// # Errors
    /// The argument or I/O error of the lowest rank, on every rank. Bytes of other ranks and windows may then be in the
    /// file.
    pub fn write_all<'a>(
        &mut self,
        extents: &Extents,
        layout: &BufferLayout,
        buffer: impl Into<Source<'a>>,
    ) -> Result<CallReport> {
        self.write_now(extents, layout, buffer.into())
    }

    /// Writes; not generic, so that it is compiled in this crate.
    fn write_now(&mut self, extents: &Extents, layout: &BufferLayout, source: Source<'_>) -> Result<CallReport> {
        self.begin()?;
        self.calls.returns_at_end = true;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.complete(pin!(self.write(extents, layout, source)));
        self.calls.returns_at_end = false;
        self.end(&outcome);
        self.observers.record(Direction::Write, (extents, layout), started, outcome.as_ref());
        outcome
    }

    /// Writes like [`File::write_all`], as a future that the caller polls. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::write_all`].
    pub async fn write_all_async(
        &mut self,
        extents: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
    ) -> Result<CallReport> {
        self.begin()?;
        self.begun_write(extents, layout, source).await
    }

    /// Writes like [`File::write_all_async`], for a caller that waits for the end of the call: the call may then send
    /// and write `source` without a copy, as [`File::write_all`] does. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::write_all`].
    ///
    /// # Safety
    /// After the first poll, the caller polls the future to its end, or the process ends before the memory of `source`
    /// is freed.
    pub async unsafe fn write_all_to_end(
        &mut self,
        extents: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
    ) -> Result<CallReport> {
        self.begin()?;
        self.calls.returns_at_end = true;
        let outcome = self.begun_write(extents, layout, source).await;
        self.calls.returns_at_end = false;
        outcome
    }

    /// Starts a non-blocking [`File::write_all`]. Collective.
    pub fn start_write_all<'a>(
        &'a mut self,
        extents: &'a Extents,
        layout: &'a BufferLayout,
        buffer: impl Into<Source<'a>>,
    ) -> Operation<'a, CallReport> {
        let (waiting, source) = (self.endpoint.waiting().clone(), buffer.into());
        // Begin here and not in the first test: an operation dropped before its first test counts as dropped too.
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            self.begun_write(extents, layout, source).await
        });
        Operation::new(future, waiting)
    }

    async fn begun_write(
        &mut self,
        extents: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
    ) -> Result<CallReport> {
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.call(pin!(self.write(extents, layout, source))).await;
        self.end(&outcome);
        self.observers.record(Direction::Write, (extents, layout), started, outcome.as_ref());
        outcome
    }

    /// Checks the arguments and runs the call.
    async fn write(&mut self, asked: &Extents, layout: &BufferLayout, source: Source<'_>) -> Result<CallReport> {
        let mut writable = match self.setup.mode {
            Mode::Read => Err(Error::state("the file was opened for reading only; open it with Mode::Update to write")),
            Mode::Create | Mode::Update => plan::check_access(asked, layout, source.span()),
        };
        let mut staged = Vec::new();
        if writable.is_ok() && device::may_be() {
            let file = (self.endpoint.rank(), &*self.setup.path);
            writable = stage_write(file, layout, asked.bytes(), source, &mut staged);
        }
        let (layout, source) = match staged.is_empty() {
            true => (layout, source),
            false => (&BufferLayout::Contiguous, Source::from(&staged[..])),
        };
        let (sorted, writable) = match writable {
            // Windows in shared memory are filled in ascending order.
            Ok(()) if self.setup.shares_memory => sorted(asked, layout),
            writable => (None, writable),
        };
        let (extents, layout) = sorted.as_ref().map_or((asked, layout), |(extents, layout)| (extents, layout));
        let (memory, is_sole) = (CallMemory::Source(layout, source), self.is_sole_writer());
        self.call(&mut CallAccess { asked, extents, memory, is_sole, moved: 0 }, writable).await
    }

    /// Reads `extents` of the file into `buffer`, together with all ranks. `layout` is the layout of `buffer`; the call
    /// accesses only its bytes. Collective; a rank that wants nothing passes no extents. Ranks may read the same bytes.
    /// Holes of the file read as zeros. Bytes of the buffer for offsets behind the end of the file are unchanged. Costs
    /// as much as a write of the same access.
    ///
    /// # Errors
    /// The argument or I/O error of the lowest rank, on every rank. The contents of the buffers are then undefined.
    pub fn read_all<'a>(
        &mut self,
        extents: &Extents,
        layout: &BufferLayout,
        buffer: impl Into<Sink<'a>>,
    ) -> Result<ReadReport> {
        self.read_now(extents, layout, buffer.into())
    }

    /// Reads; not generic, so that it is compiled in this crate.
    fn read_now(&mut self, extents: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        self.begin()?;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.complete(pin!(self.read(extents, layout, sink)));
        self.end(&outcome);
        self.observers.record(Direction::Read, (extents, layout), started, outcome.as_ref().map(|report| &report.call));
        outcome
    }

    /// Reads like [`File::read_all`], as a future that the caller polls. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::read_all`].
    pub async fn read_all_async(
        &mut self,
        extents: &Extents,
        layout: &BufferLayout,
        sink: Sink<'_>,
    ) -> Result<ReadReport> {
        self.begin()?;
        self.begun_read(extents, layout, sink).await
    }

    /// Starts a non-blocking [`File::read_all`]. Collective.
    pub fn start_read_all<'a>(
        &'a mut self,
        extents: &'a Extents,
        layout: &'a BufferLayout,
        buffer: impl Into<Sink<'a>>,
    ) -> Operation<'a, ReadReport> {
        let (waiting, sink) = (self.endpoint.waiting().clone(), buffer.into());
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            self.begun_read(extents, layout, sink).await
        });
        Operation::new(future, waiting)
    }

    async fn begun_read(&mut self, extents: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.call(pin!(self.read(extents, layout, sink))).await;
        self.end(&outcome);
        self.observers.record(Direction::Read, (extents, layout), started, outcome.as_ref().map(|report| &report.call));
        outcome
    }

    /// Checks the arguments and runs the call.
    async fn read(&mut self, extents: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        let mut readable = plan::check_access(extents, layout, sink.span());
        let mut target = ReadTarget::new(layout, sink);
        if readable.is_ok() && device::may_be() {
            readable = target.stage(self.endpoint.rank(), extents.bytes());
        }
        let (memory, is_sole) = (CallMemory::Target(target), self.is_sole_writer());
        let mut call = CallAccess { asked: extents, extents, memory, is_sole, moved: 0 };
        let report = self.call(&mut call, readable).await?;
        Ok(ReadReport { bytes: call.moved, call: report })
    }

    /// Takes part in a collective write or read with an error instead of an access. The call fails on every rank with
    /// the error of the lowest rank that has one, and this error is returned. Collective: the other ranks call
    /// [`File::write_all`] or [`File::read_all`], by `direction`, or this method.
    pub fn refuse(&mut self, direction: Direction, error: Error) -> Error {
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.refuse_async(direction, error)))
    }

    /// Refuses like [`File::refuse`], as a future that the caller polls. Collective.
    pub async fn refuse_async(&mut self, direction: Direction, error: Error) -> Error {
        match self.begin() {
            Ok(()) => self.begun_refusal(direction, error).await,
            Err(unusable) => unusable,
        }
    }

    /// Refuses like [`File::refuse`], for a call that other ranks start as an operation. The outcome of the operation
    /// is the error. Collective.
    pub fn start_refuse(&mut self, direction: Direction, error: Error) -> Operation<'_, CallReport> {
        let waiting = self.endpoint.waiting().clone();
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            Err(self.begun_refusal(direction, error).await)
        });
        Operation::new(future, waiting)
    }

    async fn begun_refusal(&mut self, direction: Direction, error: Error) -> Error {
        let waiting = self.endpoint.waiting().clone();
        let started = self.observers.starts();
        let outcome = waiting.call(pin!(self.refusal(direction, error))).await;
        self.end(&outcome);
        if let Err(error) = &outcome {
            self.observers.record(direction, (&Extents::empty(), &BufferLayout::Contiguous), started, Err(error));
        }
        let rank = self.endpoint.rank();
        outcome.err().unwrap_or_else(|| Error::internal(rank, "a refused call succeeded"))
    }

    async fn refusal(&mut self, direction: Direction, error: Error) -> Result<()> {
        let none = Extents::empty();
        let memory = match direction {
            Direction::Write => CallMemory::Source(&BufferLayout::Contiguous, Source::from(&[])),
            Direction::Read => CallMemory::Target(ReadTarget::new(&BufferLayout::Contiguous, Sink::from(&mut []))),
        };
        let mut call = CallAccess { asked: &none, extents: &none, memory, is_sole: false, moved: 0 };
        self.call(&mut call, Err(error)).await.map(drop)
    }

    /// Writes `bytes` at byte `offset` of the file and returns their number. Local: no message is sent, and the calling
    /// thread does the I/O.
    ///
    /// # Errors
    /// An end beyond 2^63 - 1, a file opened for reading, an error of the system; an operation was dropped before its
    /// end. Some of the bytes may then be in the file.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<u64> {
        self.write_at_from(offset, bytes.into())
    }

    /// Writes like [`File::write_at`], from `source`, which may be device memory. Local.
    ///
    /// # Errors
    /// The same errors as [`File::write_at`]; device memory that cannot be copied.
    pub fn write_at_from(&mut self, offset: u64, source: Source<'_>) -> Result<u64> {
        self.usable()?;
        self.handle.check_writable(&self.setup, FileOperation::Write, offset)?;
        let len = source.span() as u64;
        Extents::contiguous(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut staged = Vec::new();
        if device::may_be() {
            let file = (self.endpoint.rank(), &*self.setup.path);
            stage_write(file, &BufferLayout::Contiguous, len, source, &mut staged)?;
        }
        let bytes = if staged.is_empty() { source.piece(0, len) } else { &staged };
        self.handle.write_at(&self.setup, bytes, offset)
    }

    /// Reads into `bytes` from byte `offset` of the file on. Returns the number of bytes before the end of the file;
    /// the rest of `bytes` is unchanged. Local, like [`File::write_at`].
    ///
    /// # Errors
    /// The same errors as [`File::write_at`]; the contents of `bytes` are then undefined.
    pub fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<u64> {
        self.read_at_into(offset, bytes.into())
    }

    /// Reads like [`File::read_at`], into `sink`, which may be device memory. Local.
    ///
    /// # Errors
    /// The same errors as [`File::read_at`]; device memory that cannot be copied.
    pub fn read_at_into(&mut self, offset: u64, sink: Sink<'_>) -> Result<u64> {
        self.usable()?;
        let len = sink.span() as u64;
        let file = Extents::contiguous(offset, len)?;
        if len == 0 {
            return Ok(0);
        }
        let mut target = ReadTarget::new(&BufferLayout::Contiguous, sink);
        if device::may_be() {
            target.stage(self.endpoint.rank(), len)?;
        }
        let bytes = self.handle.read_at(&self.setup, target.memory().sink.piece(0, len), offset)?;
        let mut outcome = Outcome { bytes, ..Outcome::default() };
        target.copy_to_device((self.endpoint.rank(), &self.setup.path), &file, &mut outcome);
        outcome.error.map_or(Ok(outcome.bytes), Err)
    }
}
