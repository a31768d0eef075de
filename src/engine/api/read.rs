//! The collective read.

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Sink};
use crate::collectives::broadcast_error;
use crate::device;
use crate::engine::agreed::Agreed;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::{CallTotals, finish_call};
use crate::engine::api::operation::Operation;
use crate::engine::api::report::{CallReport, Clock, Lap};
use crate::engine::api::staging::Target;
use crate::engine::data::reading::Reading;
use crate::engine::plan::duplicate_reads::{DuplicateRead, duplicate_reads};
use crate::engine::plan::{self, Direction};
use crate::engine::policy::paths::Way;
use crate::engine::shared::windows;
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
        self.read_checked(file, target, access).await
    }

    /// The first agreement, then the rest of the read. Ranks for which that is cheap read their bytes before the agreement, so
    /// that they need not wait.
    async fn read_checked(&mut self, file: &Extents, mut target: Target<'_>, access: Result<()>) -> Result<ReadReport> {
        let mut clock = Clock::start(self.endpoint.waiting());
        let (layout, sink) = target.memory();
        let goes_early = access.is_ok() && self.setup.rules(Direction::Read).reads_early(file, self.reads_disjoint);
        let mut early = goes_early.then(|| self.read_directly(file, layout, sink));
        if let Some(outcome) = &mut early {
            self.deliver(&mut target, file, outcome);
            clock.lap(Lap::Elsewhere);
        }
        let failed = early.as_mut().and_then(|outcome| outcome.error.take());
        let checked = failed.map_or(access, Err);
        let (layout, _) = target.memory();
        let (agreed, error) = match self.setup.shares_memory {
            true => self.meet_to_read(file, checked, early.as_ref()).await?,
            false => {
                let checked = checked.and_then(|()| self.file_end());
                self.sweep_read(file, layout, checked, early.as_ref()).await?
            }
        };
        if let Some(failed) = agreed.failed {
            return Err(broadcast_error(&mut self.endpoint, failed, error.as_ref()).await?);
        }
        let rules = self.setup.rules(Direction::Read);
        let chosen = rules.choose(&agreed);
        // A read in which nobody wanted anything says nothing of the next.
        if agreed.all.bytes > 0 {
            self.reads_disjoint = rules.reads_apart(&agreed);
        }
        if chosen.0.is_over() {
            let bytes = early.map_or(0, |outcome| outcome.bytes);
            return Ok(ReadReport { bytes, call: agreed.report(Direction::Read, chosen, clock.total()) });
        }
        clock.lap(Lap::Agreement);
        let mut done = CallTotals::new(Direction::Read, chosen);
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let (layout, sink) = target.memory();
        match chosen.0 {
            Way::Windows => {
                done.aggregators = 1;
                (done.outcome, done.counts.placement) = self.read_windows(rest, layout, sink, &agreed).await?;
            }
            Way::Hosts => {
                done.aggregators = self.hosts();
                (done.outcome, done.counts.placement) = self.read_on_host(rest, layout, sink).await?;
            }
            Way::Exchange => self.exchange_read(rest, layout, sink, &agreed, &mut clock, &mut done).await?,
            Way::Nothing | Way::Itself | Way::Root | Way::Slots => {}
            Way::Direct => done.outcome = self.read_directly(rest, layout, sink),
        }
        clock.lap(Lap::Elsewhere);
        match early {
            None => self.deliver(&mut target, file, &mut done.outcome),
            early => done.outcome.add(early),
        }
        let bytes = done.outcome.bytes;
        let keeping = (self.diary.as_deref_mut(), self.cached.as_mut());
        let mut call = finish_call(&mut self.endpoint, &agreed.all, done, clock, keeping).await?;
        if chosen.0 == Way::Windows {
            call.rounds = windows(&self.setup, &agreed.left).count();
        }
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
    pub(in crate::engine) fn own_file_end(&mut self) -> Result<u64> {
        size(&self.storage(), self.endpoint.rank(), &self.setup.path)
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
        let duplicate_reads = duplicate_reads(file, layout, agreed.left.end);
        clock.lap(Lap::Flatten);
        done.aggregators = self.setup.roles(agreed.left.bytes).aggregators.len();
        let rounds = Reading::new(&plan, &plan.data, sink.reborrow()).timed(self.diary.is_some());
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
