//! The collective read: its public calls, and what it does differently from a write in a [call](super::super::call).

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink};
use crate::device;
use crate::engine::agreed::Agreed;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::CallTotals;
use crate::engine::api::operation::Operation;
use crate::engine::api::patience::Part;
use crate::engine::api::report::{CallReport, Clock, Lap};
use crate::engine::api::staging::Target;
use crate::engine::call::{Call, CallMemory};
use crate::engine::data::reading::Reading;
use crate::engine::plan::duplicate_reads::{DuplicateRead, duplicate_reads};
use crate::engine::plan::{self, Direction};
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{direct_read, guarded, size};
use crate::error::Result;

/// The result of a collective read on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// Bytes of this rank's access before the end of the file. The rest of the buffer is unchanged.
    pub bytes: u64,
    /// The report of the call; the same on all ranks.
    pub call: CallReport,
}

impl File {
    /// Reads `extents` of the file into `buffer` (laid out as `layout`; only its bytes are accessed), together with all ranks.
    /// Collective; a rank that wants nothing passes no extents. Ranks may want the same bytes. Holes of the file read as zeros.
    /// Bytes of the buffer that stand for bytes behind the end of the file are unchanged. Costs what a write of the same access
    /// costs; aggregators send and ranks receive.
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

    /// Apart from the generic one, so that it is compiled with what it calls.
    fn read_now(&mut self, extents: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        self.begin()?;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.starts());
        let outcome = waiting.complete(pin!(self.read(extents, layout, sink)));
        self.end(&outcome);
        self.record(Direction::Read, (extents, layout), started, outcome.as_ref().map(|report| &report.call));
        outcome
    }

    /// As [`File::read_all`], as a future that the program polls. Collective.
    ///
    /// # Errors
    /// As [`File::read_all`].
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
        let (waiting, started) = (self.endpoint.waiting().clone(), self.starts());
        let outcome = waiting.call(pin!(self.read(extents, layout, sink))).await;
        self.end(&outcome);
        self.record(Direction::Read, (extents, layout), started, outcome.as_ref().map(|report| &report.call));
        outcome
    }

    /// Checks the arguments and runs the call.
    async fn read(&mut self, extents: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        let mut readable = plan::check_access(extents, layout, sink.span());
        let mut target = Target::new(layout, sink);
        if readable.is_ok() && device::may_be() {
            readable = self.stage_read(&mut target, extents.bytes());
        }
        let mut call = Call { asked: extents, extents, memory: CallMemory::Target(target), moved: 0 };
        let report = self.call(&mut call, readable).await?;
        Ok(ReadReport { bytes: call.moved, call: report })
    }

    /// The end of the file on the first aggregator; `u64::MAX` on the other ranks.
    pub(in crate::engine) fn file_end(&mut self) -> Result<u64> {
        let rank = self.endpoint.rank();
        if self.setup.roles.aggregators.first() != Some(&rank) {
            return Ok(u64::MAX);
        }
        self.own_file_end()
    }

    /// The end of the file, as the system reports it to this rank.
    pub(in crate::engine) fn own_file_end(&mut self) -> Result<u64> {
        size(&self.storage(), self.endpoint.rank(), &self.setup.path)
    }

    /// Reads by the two-phase exchange. Collective.
    ///
    /// # Errors
    /// Those of the fabric.
    pub(in crate::engine) async fn exchange_read(
        &mut self,
        extents: &Extents,
        (layout, mut sink): (&BufferLayout, Sink<'_>),
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<()> {
        self.patience.go_on(Part::Metadata);
        let plan = self.plan(extents, layout, agreed, clock, done).await?;
        let duplicate_reads = duplicate_reads(extents, layout, agreed.left.end);
        clock.lap(Lap::Flatten);
        let rounds =
            Reading::new(&plan, &plan.data, sink.reborrow()).watched(&self.patience).timed(self.diary.is_some());
        done.counts = rounds.run(&mut self.endpoint, &mut self.queue).await?;
        duplicate_reads.iter().for_each(|duplicate: &DuplicateRead| duplicate.copy(&mut sink));
        self.settle(done).await;
        let asked: u64 = plan.outgoing.iter().map(|out| out.file.summary().bytes).sum();
        done.outcome.bytes = asked + duplicate_reads.iter().map(|duplicate| duplicate.len).sum::<u64>();
        Ok(())
    }

    /// Reads an access that needs no other rank. Local.
    pub(in crate::engine) fn read_directly(
        &mut self,
        extents: &Extents,
        (layout, sink): (&BufferLayout, Sink<'_>),
    ) -> Outcome {
        if extents.count() == 0 {
            return Outcome::default();
        }
        let bridge = self.setup.sieve(self.setup.hints.ds_read).bridge();
        let read = self.storage().and_then(|storage| {
            guarded("read", 0, || direct_read::read(&*storage, extents, layout, sink, bridge))
                .map_err(|failure| failure.of(self.endpoint.rank(), &self.setup.path))
        });
        read.unwrap_or_else(|error| Outcome { error: Some(error), ..Outcome::default() })
    }
}
