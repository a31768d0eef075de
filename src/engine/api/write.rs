//! The public calls of the collective write, and its part of the code that reads and writes share
//! ([call](super::super::call)).

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Source};
use crate::device;
use crate::drivers::Mode;
use crate::engine::api::operation::Operation;
use crate::engine::call::{CallAccess, CallMemory};
use crate::engine::direction::Direction;
use crate::engine::file::File;
use crate::engine::plan;
use crate::engine::record::report::CallReport;
use crate::engine::staging::stage_write;
use crate::engine::ways::windows::sorted;
use crate::error::{Error, Result};

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
        self.returns_at_end = true;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.observers.starts());
        let outcome = waiting.complete(pin!(self.write(extents, layout, source)));
        self.returns_at_end = false;
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
        self.returns_at_end = true;
        let outcome = self.begun_write(extents, layout, source).await;
        self.returns_at_end = false;
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
}
