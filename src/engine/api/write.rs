//! The collective write.

use std::pin::pin;

use crate::access::{BufferLayout, Extents, Source};
use crate::collectives::broadcast_error;
use crate::device;
use crate::drivers::Mode;
use crate::engine::agreed::Agreed;
use crate::engine::api::file::File;
use crate::engine::api::finish_call::{CallTotals, finish_call};
use crate::engine::api::operation::Operation;
use crate::engine::api::report::{CallReport, Clock, Lap};
use crate::engine::data::lending::Lender;
use crate::engine::data::writing::Writing;
use crate::engine::opening::Access;
use crate::engine::plan::{self, Direction};
use crate::engine::policy::paths::Way;
use crate::engine::policy::reason::Reason;
use crate::engine::shared::write::sorted;
use crate::engine::storage::direct;
use crate::engine::storage::window_queue::Outcome;
use crate::error::{Error, Result};

impl File {
    /// Writes `buffer` (laid out as `layout`) to the extents `file`, together with all ranks. Collective; a rank without data
    /// passes no extents. The hint `trib_overlap` says which bytes stay if ranks overlap.
    ///
    /// # Errors
    /// The argument or I/O error of the lowest rank, on every rank. Bytes of other ranks and windows may then be in the file.
    pub fn write_all(&mut self, file: &Extents, layout: &BufferLayout, buffer: &[u8]) -> Result<CallReport> {
        self.write_all_from(file, layout, buffer.into())
    }

    /// As [`File::write_all`], from memory of which only the bytes of `layout` are accessed. Collective.
    ///
    /// # Errors
    /// As [`File::write_all`].
    pub fn write_all_from(&mut self, file: &Extents, layout: &BufferLayout, source: Source<'_>) -> Result<CallReport> {
        self.begin()?;
        self.returns_at_end = true;
        let (waiting, started) = (self.endpoint.waiting().clone(), self.starts());
        let outcome = waiting.complete(pin!(self.write(file, layout, source)));
        self.returns_at_end = false;
        self.end(&outcome);
        self.record(Direction::Write, (file, layout), started, outcome.as_ref());
        outcome
    }

    /// As [`File::write_all_from`], as a future that the program polls. Collective.
    ///
    /// # Errors
    /// As [`File::write_all`].
    pub async fn write_all_async(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
    ) -> Result<CallReport> {
        self.begin()?;
        self.begun_write(file, layout, source).await
    }

    /// As [`File::write_all_async`], for a caller that waits for the end of the call: `source` may then be sent and written in
    /// place, as [`File::write_all_from`] does. Collective.
    ///
    /// # Errors
    /// As [`File::write_all`].
    ///
    /// # Safety
    /// Once polled, the future is polled to its end, or the process ends before the memory of `source` does.
    pub async unsafe fn write_all_to_end(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
    ) -> Result<CallReport> {
        self.begin()?;
        self.returns_at_end = true;
        let outcome = self.begun_write(file, layout, source).await;
        self.returns_at_end = false;
        outcome
    }

    /// Starts a non-blocking collective write. Collective.
    pub fn start_write_all<'a>(
        &'a mut self,
        file: &'a Extents,
        layout: &'a BufferLayout,
        buffer: &'a [u8],
    ) -> Operation<'a, CallReport> {
        self.start_write_all_from(file, layout, buffer.into())
    }

    /// As [`File::start_write_all`], from memory of which only the bytes of `layout` are accessed. Collective.
    pub fn start_write_all_from<'a>(
        &'a mut self,
        file: &'a Extents,
        layout: &'a BufferLayout,
        source: Source<'a>,
    ) -> Operation<'a, CallReport> {
        let waiting = self.endpoint.waiting().clone();
        // Here and not in the first test: an operation dropped before its first test counts as dropped too.
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            self.begun_write(file, layout, source).await
        });
        Operation::new(future, waiting)
    }

    async fn begun_write(&mut self, file: &Extents, layout: &BufferLayout, source: Source<'_>) -> Result<CallReport> {
        let (waiting, started) = (self.endpoint.waiting().clone(), self.starts());
        let outcome = waiting.call(pin!(self.write(file, layout, source))).await;
        self.end(&outcome);
        self.record(Direction::Write, (file, layout), started, outcome.as_ref());
        outcome
    }

    async fn write(&mut self, file: &Extents, layout: &BufferLayout, source: Source<'_>) -> Result<CallReport> {
        let mut writable = match self.setup.mode {
            Mode::Read => Err(Error::argument("file", "opened with Mode::Read", "to be read")),
            Mode::Create | Mode::Update => plan::check_access(file, layout, source.span()),
        };
        let mut staged = Vec::new();
        if writable.is_ok() && device::may_be() {
            writable = self.stage_write(layout, file.bytes(), source, &mut staged);
        }
        let (layout, source) = match staged.is_empty() {
            true => (layout, source),
            false => (&BufferLayout::Contiguous, Source::from(&staged[..])),
        };
        let (sorted, writable) = match writable {
            // Windows in shared memory are filled in ascending order.
            Ok(()) if self.setup.shares_memory => sorted(file, layout),
            writable => (None, writable),
        };
        let (rest, layout) = sorted.as_ref().map_or((file, layout), |(file, layout)| (file, layout));
        self.write_checked(file, (rest, layout, source), writable).await
    }

    /// The first agreement on the write of `asked`, whose bytes `access` has, then what is left of it.
    pub(in crate::engine) async fn write_checked(
        &mut self,
        asked: &Extents,
        access: Access<'_>,
        checked: Result<()>,
    ) -> Result<CallReport> {
        let mut clock = Clock::start(self.endpoint.waiting());
        let (file, layout, source) = access;
        // Each rank writes its large pieces before the agreement, so that it need not wait. If ranks overlap, the bytes are
        // written again.
        let alone = self.endpoint.shared().is_some_and(|shared| shared.spins());
        let goes_early = !self.may_overlap && self.setup.rules(Direction::Write).writes_early(file, alone);
        let mut early = (checked.is_ok() && goes_early).then(|| self.write_directly(file, layout, source));
        let failed = early.as_mut().and_then(|outcome| outcome.error.take());
        let checked = failed.map_or(checked, Err);
        if early.is_some() {
            clock.lap(Lap::Elsewhere);
        }
        let (mut agreed, error) = match self.setup.shares_memory {
            true => self.meet_to_write(access, asked, checked, early.as_ref(), None).await?,
            false => self.sweep_write(access, checked, early.as_ref()).await?,
        };
        if let Some(failed) = agreed.failed {
            return Err(broadcast_error(&mut self.endpoint, failed, error.as_ref()).await?);
        }
        let rules = self.setup.rules(Direction::Write);
        if rules.must_look(&agreed) {
            agreed.disjoint = Some(plan::truly_disjoint(&mut self.endpoint, &self.setup, file).await?);
            agreed.redo(Direction::Write);
        }
        let (way, reason) = rules.choose(&agreed);
        self.may_overlap |= agreed.redone;
        if way.is_over() {
            return Ok(agreed.report(Direction::Write, (way, reason), clock.total()));
        }
        clock.lap(Lap::Agreement);
        let early = early.filter(|_| !agreed.redone);
        let own = early.is_some().then(Extents::empty);
        self.write_rest((own.as_ref().unwrap_or(file), layout, source), &agreed, (way, reason), early, clock).await
    }

    /// Writes the bytes that are left after the agreement. `early` is the outcome of what this rank has written before it.
    async fn write_rest(
        &mut self,
        access: Access<'_>,
        agreed: &Agreed,
        chosen: (Way, Reason),
        early: Option<Outcome>,
        mut clock: Clock,
    ) -> Result<CallReport> {
        let mut done = CallTotals::new(Direction::Write, chosen);
        match chosen.0 {
            Way::Windows => return self.write_windows(access, agreed, chosen, &clock).await,
            Way::Hosts => {
                done.aggregators = self.hosts();
                done.outcome = self.write_on_host(access, &clock).await?;
            }
            Way::Exchange => self.exchange_write(access, agreed, &mut clock, &mut done).await?,
            Way::Nothing | Way::Itself | Way::Root | Way::Slots => {}
            Way::Direct => {
                let (file, layout, source) = access;
                done.outcome = self.write_directly(file, layout, source);
            }
        }
        clock.lap(Lap::Elsewhere);
        done.outcome.add(early);
        let keeping = (self.diary.as_deref_mut(), self.cached.as_mut());
        finish_call(&mut self.endpoint, &agreed.all, done, clock, keeping).await
    }

    async fn exchange_write(
        &mut self,
        (file, layout, source): Access<'_>,
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut CallTotals,
    ) -> Result<()> {
        let plan = self.plan(file, layout, agreed, clock, done).await?;
        done.aggregators = self.setup.roles(agreed.left.bytes).aggregators.len();
        // SAFETY: the future of a call that returns at its end lies on the stack of that call, which drops all of it before it
        // returns to the owner of the memory.
        let lender = self.returns_at_end.then(|| unsafe { Lender::new(source) });
        let rounds = Writing::new(&plan, &plan.data, source).timed(self.diary.is_some());
        let ran = rounds.lending(lender.as_ref(), &self.endpoint).run(&mut self.endpoint, &mut self.queue).await;
        clock.lap(Lap::Elsewhere);
        let ran = ran.map(|counts| done.counts = counts);
        // Also after an error: the worker writes what is lent.
        self.settle(done).await;
        ran
    }

    /// Writes an access that needs no other rank. Local.
    pub(in crate::engine) fn write_directly(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        source: Source<'_>,
    ) -> Outcome {
        if file.count() == 0 {
            return Outcome::default();
        }
        match self.storage() {
            Ok(storage) => direct::write(&*storage, (file, layout, source), self.endpoint.rank(), &self.setup.path),
            Err(error) => Outcome { error: Some(error), ..Outcome::default() },
        }
    }
}
