//! The collective read.

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink};
use crate::device;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::{CallTotals, finish_call};
use crate::engine::api::operation::Operation;
use crate::engine::api::report::{CallReport, Clock, Path};
use crate::engine::api::staging::Target;
use crate::engine::data::reading::Reading;
use crate::engine::plan::duplicate_reads::{DuplicateRead, duplicate_reads};
use crate::engine::plan::{self, Agreed, Direction};
use crate::engine::policy::reason::Reason;
use crate::engine::storage::direct_read;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Failure, guarded};
use crate::error::Result;
use crate::hints::Switch;

/// The result of a collective read on one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadReport {
    /// Bytes of this rank's access before the end of the file. The rest of the buffer is unchanged.
    pub bytes: u64,
    /// The report of the call; the same on all ranks.
    pub call: CallReport,
}

impl File {
    /// Reads the extents `file` into `buffer` (laid out as `layout`), together with all ranks. Collective; a rank that wants
    /// nothing passes no extents. Ranks may want the same bytes. Holes of the file read as zeros. Bytes of the buffer that are
    /// outside `layout` or stand for bytes behind the end of the file are unchanged. Costs what a write of the same access
    /// costs; aggregators send and ranks receive.
    ///
    /// # Errors
    /// The argument or I/O error of the lowest rank, on every rank. The contents of the buffers are then undefined.
    pub fn read_all(&mut self, file: &Extents, layout: &BufferLayout, buffer: &mut [u8]) -> Result<ReadReport> {
        self.read_all_into(file, layout, buffer.into())
    }

    /// As [`File::read_all`], into memory of which only the bytes of `layout` are accessed. Collective.
    ///
    /// # Errors
    /// As [`File::read_all`].
    pub fn read_all_into(&mut self, file: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        self.begin()?;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.starts());
        let outcome = waiting.complete(pin!(self.read(file, layout, sink)));
        self.end(&outcome);
        self.record(Direction::Read, (file, layout), started, outcome.as_ref().map(|report| &report.call));
        outcome
    }

    /// As [`File::read_all_into`], as a future that the program polls. Collective.
    ///
    /// # Errors
    /// As [`File::read_all`].
    pub async fn read_all_async(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        sink: Sink<'_>,
    ) -> Result<ReadReport> {
        self.begin()?;
        self.begun_read(file, layout, sink).await
    }

    /// Starts a non-blocking collective read. Collective.
    pub fn start_read_all<'a>(
        &'a mut self,
        file: &'a Extents,
        layout: &'a BufferLayout,
        buffer: &'a mut [u8],
    ) -> Operation<'a, ReadReport> {
        self.start_read_all_into(file, layout, buffer.into())
    }

    /// As [`File::start_read_all`], into memory of which only the bytes of `layout` are accessed. Collective.
    pub fn start_read_all_into<'a>(
        &'a mut self,
        file: &'a Extents,
        layout: &'a BufferLayout,
        sink: Sink<'a>,
    ) -> Operation<'a, ReadReport> {
        let waiting = self.endpoint.waiting().clone();
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            self.begun_read(file, layout, sink).await
        });
        Operation::new(future, waiting)
    }

    async fn begun_read(&mut self, file: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        let (waiting, started) = (self.endpoint.waiting().clone(), self.starts());
        let outcome = waiting.call(pin!(self.read(file, layout, sink))).await;
        self.end(&outcome);
        self.record(Direction::Read, (file, layout), started, outcome.as_ref().map(|report| &report.call));
        outcome
    }

    async fn read(&mut self, file: &Extents, layout: &BufferLayout, sink: Sink<'_>) -> Result<ReadReport> {
        let mut access = plan::check_access(file, layout, sink.span());
        let mut target = Target::new(layout, sink);
        if access.is_ok() && device::may_be() {
            access = self.stage_read(&mut target, file.bytes());
        }
        if self.setup.shares_memory {
            return self.read_shared(file, target, access).await;
        }
        self.read_by_messages(file, target, access).await
    }

    /// The first agreement, then the rest of the read. If ranks wanted different bytes in the last read, those with large or
    /// few pieces read them before the agreement, so that they need not wait. (If all want the same bytes, one rank reads them.)
    async fn read_by_messages(
        &mut self,
        file: &Extents,
        mut target: Target<'_>,
        access: Result<()>,
    ) -> Result<ReadReport> {
        let mut clock = Clock::start(self.endpoint.waiting());
        let (layout, sink) = target.memory();
        let is_early = access.is_ok() && self.reads_disjoint && self.setup.rules(Direction::Read).is_direct(file);
        let mut early = is_early.then(|| self.read_directly(file, layout, sink));
        if let Some(outcome) = &mut early {
            self.deliver(&mut target, file, outcome);
        }
        let failed = early.as_mut().and_then(|outcome| outcome.error.take());
        let checked = failed.map_or(access, Err).and_then(|()| self.file_end());
        clock.elsewhere.lap();
        let (layout, _) = target.memory();
        let opened = self.agree_on_read(file, layout, checked, early.as_ref()).await?;
        clock.agreement.lap();
        let hints = &self.setup.hints;
        let may_be_direct = hints.cb_read == Switch::Automatic && !hints.no_indep_rw;
        // A read in which nobody wanted anything says nothing of the next.
        if opened.all.bytes > 0 {
            self.reads_disjoint = may_be_direct && opened.disjoint == Some(true);
        }
        let got = early.as_ref().map_or(0, |outcome| outcome.bytes);
        if opened.is_over() {
            let call = opened.report(Direction::Read, Path::Direct, Reason::ReadItself, clock.total());
            return Ok(ReadReport { bytes: got, call });
        }
        let agreed = Agreed { disjoint: opened.disjoint.unwrap_or(opened.left.disjoint), ..opened.left };
        let is_few = opened.few && self.reads_disjoint;
        let (path, reason) = self.setup.rules(Direction::Read).by_messages(&agreed, is_few);
        let mut done = CallTotals { path, reason, ..CallTotals::new(Direction::Read) };
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let (layout, sink) = target.memory();
        match path {
            Path::Nothing | Path::Root => {}
            Path::Shared => {
                done.aggregators = self.hosts();
                done.outcome = self.read_on_host(rest, layout, sink).await?;
                clock.elsewhere.lap();
            }
            Path::Direct => {
                done.outcome = self.read_directly(rest, layout, sink);
                clock.elsewhere.lap();
            }
            Path::Exchange => self.exchange_read(rest, layout, sink, &agreed, &mut clock, &mut done).await?,
        }
        match early {
            Some(early) => {
                done.outcome.bytes += early.bytes;
                done.outcome.busy += early.busy;
            }
            None => self.deliver(&mut target, file, &mut done.outcome),
        }
        let bytes = done.outcome.bytes;
        let call =
            finish_call(&mut self.endpoint, opened.all, done, clock, (self.diary.as_deref_mut(), self.cached.as_mut()))
                .await?;
        Ok(ReadReport { bytes, call })
    }

    /// The end of the file on the first aggregator; `u64::MAX` on the other ranks.
    fn file_end(&mut self) -> Result<u64> {
        let rank = self.endpoint.rank();
        if self.setup.roles.aggregators.first() != Some(&rank) {
            return Ok(u64::MAX);
        }
        self.own_file_end()
    }

    /// The end of the file, as the system reports it to this rank.
    fn own_file_end(&mut self) -> Result<u64> {
        let rank = self.endpoint.rank();
        let storage = self.storage()?;
        let size = || storage.size().map_err(|cause| Failure { operation: "stat", offset: 0, cause });
        guarded("stat", 0, size).map_err(|failure| failure.of(rank, &self.setup.path))
    }

    async fn exchange_read(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        mut sink: Sink<'_>,
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<()> {
        let plan = self.plan(file, layout, agreed, clock, done).await?;
        let duplicate_reads = duplicate_reads(file, layout, agreed.end);
        clock.flatten.lap();
        done.aggregators = self.setup.roles(agreed.bytes).aggregators.len();
        let rounds = Reading::new(&plan, &plan.data, sink.reborrow()).timed(self.diary.is_some());
        done.counts = rounds.run(&mut self.endpoint, &mut self.queue).await?;
        duplicate_reads.iter().for_each(|duplicate: &DuplicateRead| duplicate.copy(&mut sink));
        self.settle(done).await;
        let asked: u64 = plan.outgoing.iter().map(|out| out.file.summary().bytes).sum();
        done.outcome.bytes = asked + duplicate_reads.iter().map(|duplicate| duplicate.len).sum::<u64>();
        clock.elsewhere.lap();
        Ok(())
    }

    /// Reads an access that needs no other rank. Local.
    pub(in crate::engine) fn read_directly(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        sink: Sink<'_>,
    ) -> Outcome {
        if file.count() == 0 {
            return Outcome::default();
        }
        let bridge = self.setup.sieve(self.setup.hints.ds_read).bridge();
        let read = self.storage().and_then(|storage| {
            guarded("read", 0, || direct_read::read(&*storage, file, layout, sink, bridge))
                .map_err(|failure| failure.of(self.endpoint.rank(), &self.setup.path))
        });
        read.unwrap_or_else(|error| Outcome { error: Some(error), ..Outcome::default() })
    }
}
