//! The public calls of the collective read, and its part of the code that reads and writes share
//! ([call](super::super::call)).

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink};
use crate::device;
use crate::engine::api::operation::Operation;
use crate::engine::call::{CallAccess, CallMemory};
use crate::engine::direction::Direction;
use crate::engine::file::File;
use crate::engine::plan;
use crate::engine::record::report::CallReport;
use crate::engine::staging::ReadTarget;
use crate::error::Result;

/// The result of a collective read on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// Number of this rank's bytes before the end of the file. The rest of the buffer is unchanged.
    pub bytes: u64,
    /// The report of the call; the same on all ranks.
    pub call: CallReport,
}

impl File {
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
}
