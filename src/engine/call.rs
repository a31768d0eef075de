//! A collective write or read from begin to end: facts, agreement, decision, plan, rounds, outcome.
//!
//! | step | what it is | where |
//! |---|---|---|
//! | facts | a rank's arguments: which call it is in, its extents, its error, the bytes it has already moved | `facts`, `policy/itself.rs` |
//! | agreement | the facts of all ranks, merged | `agreement/on_host.rs` in shared memory, `agreement/over_hosts.rs` over hosts |
//! | decision | the path of the bytes and the reason: one rank decides in the agreement and sends it with the answer | `setup`, `policy/paths.rs` |
//! | plan | which rank sends which bytes to which aggregator | `ways/call_plan.rs`, `plan`, `roles`, `metadata` |
//! | rounds | the bytes move, window by window | a module of `ways` for each path; below it `data`, `shared`, `storage` |
//! | outcome | errors, counts and times, on which all ranks agree | `agreement/finish.rs` |
//!
//! The public calls on a file are in `api`.

use crate::access::{BufferLayout, Extents, Source, WriteAccess};
use crate::engine::agreement::finish::finish_call;
use crate::engine::agreement::truly_disjoint;
use crate::engine::direction::Direction;
use crate::engine::facts::agreed::Agreed;
use crate::engine::file::File;
use crate::engine::policy::decision::Decision;
use crate::engine::policy::paths::Way;
use crate::engine::record::report::{CallReport, Clock, Lap};
use crate::engine::record::totals::CallTotals;
use crate::engine::staging::ReadTarget;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::watchdog::CallStage;
use crate::error::Result;

/// The arguments of one rank in a collective call: bytes of the file, and their memory.
pub struct CallAccess<'a> {
    /// The extents of the file, as the program passed them.
    pub asked: &'a Extents,
    /// The extents of `asked`, sorted in ascending order if windows in shared memory are filled.
    pub extents: &'a Extents,
    /// The memory to write from or to read into.
    pub memory: CallMemory<'a>,
    /// Number of this rank's bytes that the call moved; set when the call is over.
    pub moved: u64,
}

/// The memory of a call. The variant is the direction of the call.
pub enum CallMemory<'a> {
    /// A write: the layout of the bytes, and the memory that holds them.
    Source(&'a BufferLayout, Source<'a>),
    /// A read: the memory that receives the bytes.
    Target(ReadTarget<'a>),
}

impl CallAccess<'_> {
    fn direction(&self) -> Direction {
        match self.memory {
            CallMemory::Source(..) => Direction::Write,
            CallMemory::Target(_) => Direction::Read,
        }
    }
}

impl File {
    /// Runs a collective call. If `checked` is an error of this rank's arguments, this rank takes part without data.
    /// Collective.
    ///
    /// # Errors
    /// The same on every rank: ranks are in different calls, or the error of the lowest rank that has one. Errors of
    /// the message transport.
    pub(in crate::engine) async fn call(
        &mut self,
        call: &mut CallAccess<'_>,
        checked: Result<()>,
    ) -> Result<CallReport> {
        let (direction, mut clock) = (call.direction(), Clock::start());

        let name = self.name(direction.into());
        let checked = match self.setup.hosts_cache_apart {
            true => Box::pin(self.meet_other_hosts(direction)).await?.and(checked),
            false => checked,
        };

        // Facts. A rank moves its bytes before the agreement if that is cheap, so that it does not wait.
        let mut early =
            (checked.is_ok() && self.goes_early(call)).then(|| self.move_directly(call.extents, &mut call.memory));
        if let Some(outcome) = &mut early {
            self.deliver(call, outcome);
            self.handle.pass_outcome_on(&self.setup, direction, outcome);
            clock.lap(Lap::Elsewhere);
        }
        let checked = early.as_mut().and_then(|outcome| outcome.error.take()).map_or(checked, Err);

        // Agreement: in shared memory if all ranks share it, otherwise over hosts.
        let (extents, in_memory) = (call.extents, self.setup.shares_memory);
        self.observers.begin(self.endpoint.waiting(), name);
        let came = match &mut call.memory {
            CallMemory::Source(layout, source) if in_memory => {
                let access = WriteAccess { file: extents, layout, source: *source };
                self.agree_on_host_to_write(access, call.asked, checked, early.as_ref(), None).await
            }
            CallMemory::Source(layout, source) => {
                let access = WriteAccess { file: extents, layout, source: *source };
                self.agree_over_hosts_to_write(access, checked, early.as_ref()).await
            }
            CallMemory::Target(_) if in_memory => self.agree_on_host_to_read(extents, checked, early.as_ref()).await,
            CallMemory::Target(target) => {
                let checked = checked.and_then(|()| self.handle.end_on_first_aggregator(&self.setup));
                self.agree_over_hosts_to_read(extents, target.memory().layout, checked, early.as_ref()).await
            }
        };
        self.observers.end();
        let (mut agreed, error) = came?;
        if let Some(fault) = agreed.failed {
            return Err(Box::pin(self.agreed_error(fault, error, name)).await?);
        }
        let rules = self.setup.rules(direction);
        if rules.must_look(&agreed) {
            agreed.disjoint = Some(truly_disjoint(&mut self.endpoint, extents).await?);
            agreed.redo(direction);
            self.setup.decide(&mut agreed, rules);
        }

        // Decision.
        let decision = agreed.decision;
        self.learn(direction, &agreed);
        if decision.way.is_over() {
            call.moved = early.map_or(0, |outcome| outcome.bytes);
            return Ok(CallReport::of_agreed(&agreed, direction, clock.total()));
        }
        clock.lap(Lap::Agreement);
        let early = early.filter(|_| !agreed.redone);
        let left = if early.is_some() { &Extents::empty() } else { extents };

        // Plan and rounds.
        let mut done = CallTotals::new(direction, decision);
        match (decision.way, &mut call.memory) {
            (Way::Windows, CallMemory::Source(layout, source)) => {
                let access = WriteAccess { file: left, layout, source: *source };
                return self.write_windows(access, &agreed, &clock).await;
            }
            (Way::Windows, CallMemory::Target(target)) => {
                (done.outcome, done.counts.placement) = self.read_windows(left, target.memory(), &agreed).await?;
            }
            (Way::Hosts, CallMemory::Source(layout, source)) => {
                let access = WriteAccess { file: left, layout, source: *source };
                done.outcome = self.write_on_host(access, agreed.is_sole, &clock).await?;
            }
            (Way::Hosts, CallMemory::Target(target)) => {
                (done.outcome, done.counts.placement) = self.read_on_host(left, target.memory()).await?;
            }
            (Way::Exchange, memory) => {
                let exchanged = match memory {
                    CallMemory::Source(layout, source) => {
                        let access = WriteAccess { file: left, layout, source: *source };
                        self.exchange_write(access, &agreed, &mut clock, &mut done).await
                    }
                    CallMemory::Target(target) => {
                        self.exchange_read(left, target.memory(), &agreed, &mut clock, &mut done).await
                    }
                };
                exchanged.inspect_err(|_| self.observers.end())?;
            }
            (Way::Direct, memory) => done.outcome = self.move_directly(left, memory),
            (Way::Nothing | Way::Itself | Way::Root | Way::Slots, _) => {}
        }

        // Outcome.
        self.handle.pass_outcome_on(&self.setup, direction, &mut done.outcome);
        clock.lap(Lap::Elsewhere);
        match early {
            None => self.deliver(call, &mut done.outcome),
            early => done.outcome.add(early),
        }
        call.moved = done.outcome.bytes;
        self.observers.stage(CallStage::End);
        let timeline = self.observers.timeline();
        let report = finish_call(&mut self.endpoint, &agreed.all, done, clock, timeline).await;
        self.observers.end();
        let mut report = report?;
        self.count(&mut report, &agreed);
        Ok(report)
    }

    /// Returns true if this rank moves its bytes before the ranks agree. If ranks overlap, the bytes are written again
    /// after the agreement.
    fn goes_early(&self, call: &CallAccess<'_>) -> bool {
        let rules = self.setup.rules(call.direction());
        match call.memory {
            CallMemory::Source(..) => {
                let alone = self.endpoint.shared().is_some_and(|shared| shared.spins());
                !self.may_overlap && rules.writes_early(call.extents, alone)
            }
            CallMemory::Target(_) => rules.reads_early(call.extents, self.reads_disjoint),
        }
    }

    /// Remembers what a call shows about the next one. (A read in which no rank wanted bytes shows nothing.)
    fn learn(&mut self, direction: Direction, agreed: &Agreed) {
        match direction {
            Direction::Write => self.may_overlap |= agreed.redone,
            Direction::Read if agreed.all.bytes > 0 => {
                self.reads_disjoint = self.setup.rules(direction).reads_apart(agreed);
            }
            Direction::Read => {}
        }
    }

    /// Sets the numbers of aggregators and rounds in the report, which depend on the path of the bytes.
    fn count(&self, report: &mut CallReport, agreed: &Agreed) {
        let Decision { way, windows, .. } = agreed.decision;
        report.aggregators = match way {
            Way::Windows => 1,
            Way::Hosts => self.hosts(),
            Way::Exchange => self.setup.roles(agreed.left.bytes).aggregators.len(),
            _ => 0,
        };
        if way == Way::Windows {
            report.rounds = windows.count();
        }
    }

    /// Writes or reads extents directly, without other ranks. Local.
    fn move_directly(&mut self, extents: &Extents, memory: &mut CallMemory<'_>) -> Outcome {
        match memory {
            CallMemory::Source(layout, source) => {
                self.handle.write_directly(&self.setup, WriteAccess { file: extents, layout, source: *source })
            }
            CallMemory::Target(target) => self.handle.read_directly(&self.setup, extents, target.memory()),
        }
    }

    /// Copies the bytes that were read to device memory, if the program's buffer is there. Local.
    fn deliver(&self, call: &mut CallAccess<'_>, outcome: &mut Outcome) {
        if let CallMemory::Target(target) = &mut call.memory {
            target.copy_to_device((self.endpoint.rank(), &self.setup.path), call.asked, outcome);
        }
    }
}
