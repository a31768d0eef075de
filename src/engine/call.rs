//! A collective write or read from begin to end: a function over a team of ranks that decide together. A host is a
//! smaller team: if hosts have bytes of their own, each makes the same call again among its ranks.
//!
//! | step | what it is | where |
//! |---|---|---|
//! | facts | a rank's arguments: which call it is in, its extents, its error, the bytes it has already moved | `facts`, `policy/itself.rs` |
//! | first agreement | the facts of all ranks, merged; one rank decides how the bytes go, and why | `agreement/first.rs`, `setup`, `policy/paths.rs` |
//! | rounds | the bytes move: directly, through windows, or in messages by a plan | `ways`; below it `plan`, `data`, `shared`, `storage` |
//! | outcome | errors, counts and times, on which all ranks agree | `agreement/finish.rs` |
//!
//! The public calls on a file are in `api`.

use crate::access::{BufferLayout, Extents, Source, WriteAccess};
use crate::collectives::broadcast_error;
use crate::collectives::team::Team;
use crate::engine::agreement::finish::{CallOutcome, agree_on_outcome};
use crate::engine::agreement::first::{FirstAnswer, FirstPart, OwnAccess};
use crate::engine::agreement::truly_disjoint;
use crate::engine::direction::Direction;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::reuse::AccessShift;
use crate::engine::file::File;
use crate::engine::policy::decision::Decision;
use crate::engine::policy::paths::{Rules, Way};
use crate::engine::record::report::{CallReport, Clock, Lap};
use crate::engine::record::totals::CallTotals;
use crate::engine::staging::ReadTarget;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::watchdog::CallStage;
use crate::engine::ways::windows::{ThroughWindows, sorted};
use crate::error::Result;

/// The arguments of one rank in a collective call: bytes of the file, and their memory.
pub struct CallAccess<'a> {
    /// The extents of the file, as the program passed them.
    pub asked: &'a Extents,
    /// The extents of `asked`, sorted in ascending order if windows in shared memory are filled.
    pub extents: &'a Extents,
    /// The memory to write from or to read into.
    pub memory: CallMemory<'a>,
    /// True if nobody else can be writing the file during the call, as far as this rank knows.
    pub is_sole: bool,
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

impl CallMemory<'_> {
    /// Returns the same memory, for a part of the call. Bytes that a part reads are not copied to a device.
    fn reborrow(&mut self) -> CallMemory<'_> {
        match self {
            Self::Source(layout, source) => CallMemory::Source(layout, *source),
            Self::Target(target) => CallMemory::Target(target.in_memory()),
        }
    }

    fn layout(&mut self) -> &BufferLayout {
        match self {
            Self::Source(layout, _) => layout,
            Self::Target(target) => target.memory().layout,
        }
    }

    fn direction(&self) -> Direction {
        match self {
            Self::Source(..) => Direction::Write,
            Self::Target(_) => Direction::Read,
        }
    }
}

/// What a rank knows when its bytes have moved.
struct Moved {
    /// What the ranks of the team have agreed on.
    agreed: Agreed,
    /// This rank's numbers, and its error.
    own: CallTotals,
    /// The outcome of all ranks of the team; `None` if they still have to agree on it.
    all: Option<CallOutcome>,
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
        let (team, mut clock) = (self.team(), Clock::start());
        let checked = match self.setup.hosts_cache_apart {
            true => Box::pin(self.meet_other_hosts(call.memory.direction())).await?.and(checked),
            false => checked,
        };
        let moved = self.run(&team, call, checked, &mut clock).await?;
        self.finish(&team, moved, clock).await
    }

    /// Moves the bytes of a call among the ranks of a team. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport. Other errors are in the result.
    async fn run(
        &mut self,
        team: &Team,
        call: &mut CallAccess<'_>,
        checked: Result<()>,
        clock: &mut Clock,
    ) -> Result<Moved> {
        let direction = call.memory.direction();

        // A rank moves its bytes before the agreement if that is cheap, so that it does not wait.
        let goes_early = checked.is_ok() && self.goes_early(self.rules(team, direction), call.extents);
        let mut early = goes_early.then(|| self.move_directly(call.extents, &mut call.memory));
        if let Some(outcome) = &mut early {
            self.pass(call, outcome);
            clock.lap(Lap::Elsewhere);
        }
        let checked = early.as_mut().and_then(|outcome| outcome.error.take()).map_or(checked, Err);

        let FirstAnswer { mut agreed, error, runs } = self.agree_first(team, call, checked, early.as_ref()).await?;
        let mut own = CallTotals::new(direction);
        if agreed.failed.is_some() {
            own.outcome.error = error;
            return Ok(Moved { agreed, own, all: None });
        }
        if self.rules(team, direction).must_look(&agreed) {
            agreed.disjoint = Some(truly_disjoint(&mut self.endpoint, call.extents).await?);
            agreed.redo(direction);
            self.setup.decide(&mut agreed, self.rules(team, direction));
        }
        self.learn(team, direction, &agreed);
        clock.lap(Lap::Agreement);
        let early = early.filter(|_| !agreed.redone);
        let left = if early.is_some() { &Extents::empty() } else { call.extents };

        let mut all = None;
        match agreed.decision.way {
            Way::Nothing | Way::Itself | Way::Root | Way::Slots => {
                all = Some(CallOutcome::at_once(&agreed, clock.total()));
            }
            Way::Direct => own.outcome = self.move_directly(left, &mut call.memory),
            Way::Hosts => own = self.run_on_host(call.memory.reborrow(), left, &agreed, clock).await?,
            Way::Windows => {
                let (storage, arena) = (self.handle.storage(&self.setup), self.arena()?);
                let (setup, rank, agreed, runs) = (&self.setup, self.endpoint.rank(), &agreed, &runs);
                let windows = ThroughWindows { setup, team, arena: &arena, rank, storage, agreed, runs };
                match &mut call.memory {
                    CallMemory::Source(layout, source) => {
                        let access = WriteAccess { file: left, layout, source: *source };
                        all = Some(windows.write(&mut self.endpoint, access, clock, &mut own).await?);
                    }
                    CallMemory::Target(target) => {
                        windows.read(&mut self.endpoint, left, target.memory(), &mut own).await?;
                    }
                }
            }
            Way::Exchange => match &mut call.memory {
                CallMemory::Source(layout, source) => {
                    let access = WriteAccess { file: left, layout, source: *source };
                    self.exchange_write(access, &agreed, clock, &mut own).await?;
                }
                CallMemory::Target(target) => {
                    self.exchange_read(left, target.memory(), &agreed, clock, &mut own).await?;
                }
            },
        }
        match early {
            None => self.pass(call, &mut own.outcome),
            early => own.outcome.add(early),
        }
        call.moved = own.outcome.bytes;
        Ok(Moved { agreed, own, all })
    }

    /// Moves the bytes of this host, of which no other host has any: the same call on a smaller team. Returns the
    /// numbers of this rank; the first rank of the host reports what its ranks have written together. Collective over
    /// the ranks of the host.
    async fn run_on_host(
        &mut self,
        mut memory: CallMemory<'_>,
        asked: &Extents,
        agreed: &Agreed,
        clock: &mut Clock,
    ) -> Result<CallTotals> {
        let direction = memory.direction();
        let Some(Team::Host(host)) = self.host_team() else {
            let outcome = self.move_directly(asked, &mut memory);
            return Ok(CallTotals { outcome, ..CallTotals::new(direction) });
        };
        let (ascending, checked) = match &memory {
            CallMemory::Source(layout, _) => sorted(asked, layout),
            CallMemory::Target(_) => (None, Ok(())),
        };
        let mut extents = asked;
        if let (Some((file, layout)), CallMemory::Source(_, source)) = (&ascending, &memory) {
            (extents, memory) = (file, CallMemory::Source(layout, *source));
        }
        let mut call = CallAccess { asked, extents, memory, is_sole: agreed.is_sole, moved: 0 };
        let is_first = host.place() == 0;
        let team = Team::Host(host);
        let Moved { mut own, all, .. } = Box::pin(self.run(&team, &mut call, checked, clock)).await?;
        if let Some(all) = all.filter(|_| direction == Direction::Write) {
            (own.outcome.bytes, own.outcome.busy) =
                if is_first { (all.transferred, all.io()) } else { Default::default() };
        }
        Ok(own)
    }

    /// Makes the first agreement of a call. `early` is the outcome if this rank has moved its bytes already. Collective
    /// over the team.
    ///
    /// # Errors
    /// Errors of the message transport.
    async fn agree_first(
        &mut self,
        team: &Team,
        call: &mut CallAccess<'_>,
        checked: Result<()>,
        early: Option<&Outcome>,
    ) -> Result<FirstAnswer> {
        let (rank, direction) = (self.endpoint.rank(), call.memory.direction());
        let (in_memory, rules) = (team.is_host(), self.rules(team, direction));
        let takes_small = self.setup.takes_small(rules);
        let arena = if in_memory { Some(self.arena()?) } else { None };
        let storage = (in_memory || takes_small && rank == 0).then(|| self.handle.storage(&self.setup));
        let limit = match checked {
            // In shared memory, the rank that decides finds the end of the file.
            Ok(()) if !in_memory && direction == Direction::Read => self.handle.end_on_first_aggregator(&self.setup),
            checked => checked.map(|()| u64::MAX),
        };
        let rest = if early.is_some() { &Extents::empty() } else { call.extents };
        let reuse = if in_memory { (AccessShift::No, 0) } else { self.again(rest, call.memory.layout()) };
        let data = match &call.memory {
            CallMemory::Source(layout, source) => Some(WriteAccess { file: call.extents, layout, source: *source }),
            CallMemory::Target(_) => None,
        };
        let host = self.setup.hosts.as_ref().map(|hosts| (hosts.host(), hosts.here().is_none()));
        let (extents, failed) = ((call.asked, call.extents), limit.is_err());
        let access = OwnAccess { rank, host, extents, early, reuse, failed };
        let mut contribution = self.setup.contribution(self.rules(team, direction), access, data);
        contribution.facts.is_sole = call.is_sole;
        contribution.facts.limit = limit.as_ref().map_or(u64::MAX, |limit| *limit);
        let (setup, error) = (&self.setup, limit.err());
        let own = FirstPart { setup, rank, direction, contribution, arena: arena.as_deref(), storage, error };
        self.observers.begin(self.endpoint.waiting(), self.name(direction.into()));
        let answer = own.agree(&mut self.endpoint, team).await;
        self.observers.end();
        answer
    }

    /// Returns how an access relates to the access of the cached plan, and about how many windows of the file the
    /// access touches (the plan may not fit on another rank).
    fn again(&self, file: &Extents, layout: &BufferLayout) -> (AccessShift, u64) {
        let touched = || self.setup.roles.touched(file);
        let (again, plan) = self.plans.again(file, layout);
        (again, plan.map_or_else(touched, |plan| plan.touched(touched)))
    }

    /// Returns the rules for calls of a team.
    fn rules(&self, team: &Team, direction: Direction) -> Rules<'_> {
        Rules { in_memory: team.is_host(), ..self.setup.rules(direction) }
    }

    /// Ends a call: all ranks agree on its outcome, unless they know it already. Collective.
    async fn finish(&mut self, team: &Team, moved: Moved, mut clock: Clock) -> Result<CallReport> {
        let Moved { agreed, own, all } = moved;
        if let Some(fault) = agreed.failed {
            let name = self.name(own.direction.into());
            return Err(Box::pin(self.agreed_error(fault, own.outcome.error, name)).await?);
        }
        clock.lap(if all.is_some() { Lap::Elsewhere } else { Lap::Agreement });
        if let Some(timeline) = self.observers.timeline().filter(|_| !agreed.decision.way.is_over()) {
            timeline.phases(&clock, &own);
        }
        let all = match all {
            Some(all) => all,
            None => {
                self.observers.stage(CallStage::End);
                let outcome = CallOutcome::new(self.endpoint.rank(), &own, &clock);
                let all = agree_on_outcome(&mut self.endpoint, team, outcome, None).await;
                self.observers.end();
                all?
            }
        };
        match all.failed {
            Some(failed) => Err(broadcast_error(&mut self.endpoint, failed, own.outcome.error.as_ref()).await?),
            None => Ok(self.report(&agreed, &own, &all)),
        }
    }

    /// Returns the report of a call.
    fn report(&self, agreed: &Agreed, own: &CallTotals, all: &CallOutcome) -> CallReport {
        let Decision { way, reason, windows } = agreed.decision;
        let (bytes_written, bytes_read) = match own.direction {
            Direction::Write => (all.transferred, 0),
            Direction::Read => (0, all.transferred),
        };
        CallReport {
            path: way.path(),
            reason,
            auto: own.auto,
            told: None,
            plan_reused: own.reused,
            aggregators: match way {
                Way::Root | Way::Slots | Way::Windows => 1,
                Way::Hosts => self.hosts(),
                Way::Exchange => self.setup.roles(agreed.left.bytes).aggregators.len(),
                Way::Nothing | Way::Itself | Way::Direct => 0,
            },
            requests: agreed.all.requests,
            bytes: agreed.all.bytes,
            bytes_written,
            bytes_read,
            rounds: if way == Way::Windows { windows.count() } else { all.rounds },
            metadata_bytes: all.metadata_bytes,
            metadata_messages: all.metadata_messages,
            data_messages: all.data_messages,
            in_memory: all.in_memory,
            between_hosts: all.between_hosts,
            seconds: all.seconds(),
        }
    }

    /// Returns true if this rank moves its bytes before the ranks agree. If ranks overlap, the bytes are written again
    /// after the agreement.
    fn goes_early(&self, rules: Rules<'_>, extents: &Extents) -> bool {
        match rules.direction {
            Direction::Write => {
                let alone = self.endpoint.shared().is_some_and(|shared| shared.spins());
                !self.may_overlap && rules.writes_early(extents, alone)
            }
            Direction::Read => rules.reads_early(extents, self.reads_disjoint),
        }
    }

    /// Remembers what a call shows about the next one. (A read in which no rank wanted bytes shows nothing.)
    fn learn(&mut self, team: &Team, direction: Direction, agreed: &Agreed) {
        match direction {
            Direction::Write => self.may_overlap |= agreed.redone,
            Direction::Read if agreed.all.bytes > 0 && !team.is_host() => {
                self.reads_disjoint = self.rules(team, direction).reads_apart(agreed);
            }
            Direction::Read => {}
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

    /// Passes on the bytes that this rank has moved: what was written to other hosts, if they cache independently; what
    /// was read to device memory, if the program's buffer is there. Local.
    fn pass(&self, call: &mut CallAccess<'_>, outcome: &mut Outcome) {
        if let CallMemory::Target(target) = &mut call.memory {
            target.copy_to_device((self.endpoint.rank(), &self.setup.path), call.asked, outcome);
        }
        self.handle.pass_outcome_on(&self.setup, call.memory.direction(), outcome);
    }
}
