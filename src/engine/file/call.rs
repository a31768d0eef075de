//! A collective write or read from begin to end: a function over a team of ranks that decide together. A host is a
//! smaller team: if hosts have bytes of their own, each host repeats the call among its own ranks.
//!
//! | step | what it is | where |
//! |---|---|---|
//! | facts | a rank's arguments: which call it is in, its extents, its error, the bytes it has already moved | `agree/facts.rs` |
//! | first agreement | the merged facts of all ranks; one rank chooses the path of the bytes | `agree/first.rs`,
//! `choose/rules.rs` |
//! | rounds | the bytes move: directly, through windows, or in messages by a plan | `io`, `shared`, `exchange` |
//! | outcome | errors, counts and times, on which all ranks agree | `agree/last.rs` |
//!
//! The public calls on a file are in [`file`](super).

use std::time::Duration;

use crate::access::{Access, AccessStats, BufferLayout, Direction, Extents, Memory, Sink};
use crate::collectives::broadcast_error;
use crate::collectives::team::Team;
use crate::drivers::Mode;
use crate::engine::agree::calls::{CallFault, CallKind};
use crate::engine::agree::facts::{Agreed, Facts};
use crate::engine::agree::first::{Contribution, OpeningVote, OwnVote, Weighing, contribution, takes_small};
use crate::engine::agree::footprint::Footprint;
use crate::engine::agree::last::{CallOutcome, agree_on_outcome};
use crate::engine::agree::{agreed_error, truly_disjoint};
use crate::engine::choose::rules::Rules;
use crate::engine::exchange::Exchange;
use crate::engine::exchange::kept_plans::AccessShift;
use crate::engine::file::staging::copy_to_device;
use crate::engine::file::through_windows::{ThroughWindows, sorted};
use crate::engine::file::transfer::NO_EXTENTS;
use crate::engine::file::{File, FileState};
use crate::engine::shared::window_writer::Runs;
use crate::engine::trace::counts::{CallTotals, Outcome};
use crate::engine::trace::path::{Path, Reason};
use crate::engine::trace::report::CallReport;
use crate::engine::trace::watchdog::CallStage;
use crate::error::{Error, Result};
use crate::hints::Switch;

/// The arguments of one rank in a collective call: bytes of the file, and their memory.
pub struct CallAccess<'a> {
    /// The extents of the file, as the program passed them.
    pub asked: &'a Extents,
    /// The extents that the rank moves, and their host memory. The extents are those of `asked`, sorted in ascending order if
    /// windows in shared memory are filled.
    pub access: Access<'a>,
    /// The device memory that gets the bytes of a read afterwards; `None` if the caller's memory is host memory.
    pub device: Option<Access<'a, Sink<'a>>>,
    /// True if nobody else can be writing the file during the call, as far as this rank knows.
    pub is_sole: bool,
    /// Gets the number of this rank's bytes that the call moved, when the call is over.
    pub moved: &'a mut u64,
}

/// State of a call on one rank.
struct CallState<'a> {
    /// This rank's error before its bytes move.
    error: Option<Error>,
    /// The result of the first agreement of the team's ranks.
    agreed: Agreed,
    /// The outcome of all ranks of the team; `None` if they still have to agree on it.
    all: Option<CallOutcome>,
    /// True if all ranks of the team are known to be in the call, before their first agreement.
    all_are_here: bool,
    /// True if the call has changed already how later exchanges divide the file.
    has_learned: bool,
    /// This rank's counts and its error; `None` if the call is over with its first agreement.
    own: &'a mut Option<CallTotals>,
}

impl<'a> CallState<'a> {
    fn new(error: Option<Error>, own: &'a mut Option<CallTotals>) -> Self {
        Self { error, agreed: Agreed::default(), all: None, all_are_here: false, has_learned: false, own }
    }
}

impl File {
    /// Runs a collective call. If `checked` is an error of this rank's arguments, this rank takes part without data.
    /// Collective.
    ///
    /// # Errors
    /// The same on every rank: ranks are in different calls, or the error of the lowest rank that has one. Errors of
    /// the message transport.
    pub(super) async fn call(&mut self, call: &mut CallAccess<'_>, checked: Result<()>) -> Result<CallReport> {
        self.observers.start(self.name(self.kind(call.access.direction())));
        let (team, mut own) = (self.setup.groups.team.clone(), None);
        let mut state = CallState::new(checked.err(), &mut own);
        if let Some(write_behind) = &self.handle.write_behind {
            let name = self.name(self.kind(call.access.direction()));
            state.error = write_behind.begin_call(call.access.direction(), name).or(state.error);
        }
        if self.setup.file.caches_incoherent {
            let passed = Box::pin(self.see_other_hosts(call.access.direction())).await?;
            state.error = passed.err().or(state.error);
        }
        self.run(&team, call, &mut state).await?;
        if state.agreed.failed.is_none() {
            self.calls.early.learn(state.agreed.wants_early, state.agreed.have_sieved);
        }
        let outcome = self.finish(&team, call.access.direction(), &mut state).await;
        if let Some(write_behind) = &self.handle.write_behind {
            write_behind.end_call(&outcome);
        }
        outcome
    }

    /// Moves the bytes of a call among the ranks of a team. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport. Other errors are in `state`.
    async fn run(&mut self, team: &Team, call: &mut CallAccess<'_>, state: &mut CallState<'_>) -> Result<()> {
        let direction = call.access.direction();

        // A rank moves its bytes before the agreement if that is cheap, so that it does not wait.
        let mut early = None;
        let wants_early = state.error.is_none() && self.wants_early(self.rules(team, direction), call.access.file);
        let is_safe = direction == Direction::Read || state.all_are_here || self.calls.early.are_allowed();
        // Many pieces may be faster through windows: the rank that decides measures a call.
        let file = call.access.file;
        let asks = wants_early
            && direction == Direction::Write
            && team.is_host()
            && self.setup.file.call_costs[0].is_worth_probing(file.count());
        if wants_early && is_safe && !asks {
            let outcome = early.insert(self.move_directly(call.access.with_file(call.access.file)));
            self.pass(call, outcome);
            self.observers.moved_early();
            state.error = outcome.error.take();
        }
        let runs = self.agree_first(team, call, (early.as_ref(), wants_early), state).await?;
        if state.agreed.failed.is_some() {
            return Ok(());
        }
        if asks {
            match (state.agreed.shape.slow_call, state.agreed.decision.reason) {
                (Some(nanos @ 1..), _) => self.setup.file.call_costs[0].suppose(nanos),
                (_, Reason::LargePieces) => self.setup.file.call_costs[0].suppose(0),
                _ => {}
            }
        }
        if self.rules(team, direction).needs_overlap_check(&state.agreed.shape, state.agreed.decision.path) {
            state.agreed.shape.disjoint = Some(truly_disjoint(&mut self.endpoint, call.access.file).await?);
            state.agreed.redo(direction);
            state.agreed.decision = self.rules(team, direction).decide(&state.agreed.shape);
        }
        self.learn(team, direction, &state.agreed);
        if let (Path::Exchange, Some(nanos)) = (state.agreed.decision.path, state.agreed.shape.slow_call) {
            self.setup.file.call_costs[0].suppose(nanos);
        }
        if let (Some(write_behind), Direction::Write) = (&self.handle.write_behind, direction) {
            write_behind.agree(state.agreed.write_order());
        }
        if state.agreed.decision.path.ends_at_once() {
            state.all = Some(CallOutcome::at_once(&state.agreed, self.observers.clock.total()));
            *call.moved = early.map_or(0, |outcome| outcome.bytes);
            return Ok(());
        }
        self.observers.move_bytes();
        let early = early.filter(|_| !state.agreed.redone);
        let left = if early.is_some() { &NO_EXTENTS } else { call.access.file };
        let access = call.access.with_file(left);

        let own = state.own.insert(CallTotals::new(direction));
        match state.agreed.decision.path {
            Path::Nothing | Path::Independent | Path::Root | Path::Slots => {}
            Path::Direct => own.outcome = self.move_directly(access),
            Path::Hosts => self.run_on_host(access, &state.agreed, own).await?,
            Path::Windows => {
                let (storage, rank) = (self.handle.storage(), self.endpoint.rank());
                let (setup, arena) = (&self.setup, self.setup.groups.arena(rank)?);
                let (agreed, runs) = (&state.agreed, &runs);
                let write_behind = self.handle.write_behind.as_deref();
                let helper = &mut self.window_helper;
                let mut windows =
                    ThroughWindows { setup, team, arena, helper, rank, storage, write_behind, agreed, runs };
                state.all = windows.run(&mut self.endpoint, access, &self.observers.clock, own).await?;
            }
            Path::Exchange => {
                let (left, learned) = (&state.agreed.shape.left, &self.calls.learned);
                let planner = &self.setup.exchange;
                match state.agreed.reuse.map_or_else(|| planner.probe_then_divide(learned, left, direction), |_| None) {
                    None => self.exchange(access, (&state.agreed, None), own).await?,
                    Some(parts) => {
                        let all = self.exchange_in_two(team, access, (&state.agreed, &parts), own).await?;
                        (state.all, state.has_learned) = all;
                    }
                }
            }
        }
        match early {
            None => self.pass(call, &mut own.outcome),
            early => own.outcome.add(early),
        }
        *call.moved = own.outcome.bytes;
        Ok(())
    }

    /// Moves bytes by the two-phase exchange: all, or a `part` of them. Collective over the file's ranks.
    ///
    /// # Errors
    /// Errors of the message transport. Other errors are in `own`.
    async fn exchange(
        &mut self,
        access: Access<'_>,
        (agreed, part): (&Agreed, Option<&AccessStats>),
        own: &mut CallTotals,
    ) -> Result<()> {
        let Self { endpoint, setup, handle, calls, observers, .. } = self;
        let (plans, learned, returns_at_end) = (&mut calls.plans, &calls.learned, calls.returns_at_end);
        let (left, is_part) = (part.unwrap_or(&agreed.shape.left), part.is_some());
        let Agreed { reuse, is_sole, .. } = *agreed;
        Exchange {
            endpoint,
            file: &setup.file,
            planner: &setup.exchange,
            handle,
            plans,
            learned,
            observers,
            returns_at_end,
            left,
            reuse,
            is_sole,
            is_part,
            own,
        }
        .run(access)
        .await
    }

    /// Writes bytes in two exchanges, of two `parts` of the file: the times of the first divide the second between the
    /// aggregators. Returns the outcome of the call if the first part failed on any rank, and whether the first part has
    /// changed how the file is divided. Collective over the file's ranks.
    ///
    /// # Errors
    /// Errors of the message transport. Other errors are in `own`.
    async fn exchange_in_two(
        &mut self,
        team: &Team,
        mut access: Access<'_>,
        (agreed, [first, rest]): (&Agreed, &[AccessStats; 2]),
        own: &mut CallTotals,
    ) -> Result<(Option<CallOutcome>, bool)> {
        self.exchange(access.with_file(access.file), (agreed, Some(first)), own).await?;
        self.observers.stage(CallStage::End);
        let outcome = CallOutcome::new(self.endpoint.rank(), own, &self.observers.clock);
        let outcome = agree_on_outcome(&mut self.endpoint, team, outcome, None).await?;
        self.observers.move_bytes();
        if outcome.failed.is_some() {
            return Ok((Some(outcome), false));
        }
        let before = self.calls.learned.changes;
        self.learn_times(first, own, &outcome);
        let mut later = CallTotals::new(own.direction);
        self.exchange(access, (agreed, Some(rest)), &mut later).await?;
        own.add(later, outcome.rounds);
        Ok((None, self.calls.learned.changes != before))
    }

    /// Learns from the times of an exchange; all ranks learn the same. The next file on the same file system begins with
    /// this. Local.
    fn learn_times(&mut self, amount: &AccessStats, own: &CallTotals, all: &CallOutcome) {
        let is_changed = self.setup.exchange.learn(&mut self.calls.learned, amount, own.layers, &all.took());
        if is_changed && self.endpoint.rank() == 0 {
            self.calls.learned.keep(self.setup.file_system);
        }
    }

    /// Learns on rank 0 from a write of which each host had its own part what the file and the messages took. Local.
    fn learn_ways(&mut self, agreed: &Agreed, all: &CallOutcome) {
        let ways = &mut self.calls.learned.ways;
        if self.endpoint.rank() != 0 || !self.setup.exchange.learns() {
            return;
        }
        all.work().into_iter().for_each(|work| ways.speed.observe(work));
        // Other exchanges are of few bytes, or were not chosen by their time.
        if agreed.decision.reason == Reason::Faster {
            let aggregators = self.setup.aggregators(Path::Exchange, &agreed.shape.left);
            let each = agreed.shape.left.bytes as f64 / aggregators as f64;
            ways.exchanged(each, all.took().exchange as f64 * 1000.0);
        }
        self.calls.learned.keep(self.setup.file_system);
    }

    /// Moves the bytes of this host, of which no other host has any: the same call on a smaller team. The first rank of
    /// the host reports what its ranks have written together. Collective over the ranks of the host.
    async fn run_on_host(&mut self, access: Access<'_>, agreed: &Agreed, own: &mut CallTotals) -> Result<()> {
        let Some(host) = self.setup.groups.host().cloned() else {
            own.outcome = self.move_directly(access);
            return Ok(());
        };
        let Access { file: asked, layout, memory } = access;
        let (ascending, checked) = match &memory {
            Memory::Source(_) => sorted(asked, layout),
            Memory::Sink(_) => (None, Ok(())),
        };
        let (file, layout) = ascending.as_ref().map_or((asked, layout), |(file, layout)| (file, layout));
        let (access, mut bytes, mut totals) = (Access { file, layout, memory }, 0, None);
        let mut call = CallAccess { asked, access, device: None, is_sole: agreed.is_sole, moved: &mut bytes };
        let mut here = CallState { all_are_here: true, ..CallState::new(checked.err(), &mut totals) };
        Box::pin(self.run(&Team::Host(host.clone()), &mut call, &mut here)).await?;
        let busy = here.all.as_ref().map(CallOutcome::io).unwrap_or_default();
        let (outcome, all) = (Outcome { bytes, busy, error: here.error, ..Outcome::default() }, here.all);
        *own = totals.unwrap_or_else(|| CallTotals { outcome, ..CallTotals::new(own.direction) });
        if let Some(all) = all.filter(|_| own.direction == Direction::Write) {
            let of_host = if host.place() == 0 { all } else { CallOutcome::default() };
            (own.outcome.bytes, own.outcome.busy) = (of_host.transferred, of_host.io());
            (own.outcome.calls, own.outcome.spent) = (of_host.calls, Duration::from_micros(of_host.spent));
        }
        Ok(())
    }

    /// Makes the first agreement of a call; sets its result, and this rank's error. `early` is the outcome if this rank has
    /// moved its bytes already; `wants_early` is true if it has moved them, or would if it were allowed. Returns the extents
    /// of the file in which every byte has data, if they are known. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport.
    async fn agree_first(
        &mut self,
        team: &Team,
        call: &mut CallAccess<'_>,
        (early, wants_early): (Option<&Outcome>, bool),
        state: &mut CallState<'_>,
    ) -> Result<Runs> {
        let (rank, direction) = (self.endpoint.rank(), call.access.direction());
        let in_memory = team.is_host();
        let rules = Rules { in_memory, ..self.setup.rules(direction) };
        let takes_small = takes_small(&self.setup.votes, rules);
        let arena = if in_memory { Some(&**self.setup.groups.arena(rank)?) } else { None };
        // The rank that decides writes small data, and finds the end of the file for a read.
        let uses_file = in_memory || rank == 0 && (takes_small || direction == Direction::Read);
        let storage = uses_file.then(|| self.handle.storage());
        let rest = if early.is_some() { &NO_EXTENTS } else { call.access.file };
        let reuse = if in_memory { (AccessShift::No, 0) } else { self.plan_shift(rest, call.access.layout) };
        let Access { file, layout, memory } = &call.access;
        let data = match memory {
            Memory::Source(source) => Some(Access { file, layout, memory: *source }),
            Memory::Sink(_) => None,
        };
        let host = self.setup.groups.hosts.as_ref().map(|hosts| (hosts.host(), hosts.here().is_none()));
        let (extents, failed, form) = ((call.asked, call.access.file), state.error.is_some(), self.calls.form);
        let access = OwnVote { rank, host, extents, early, reuse, failed, form };
        let (votes, file, error) = (&self.setup.votes, &*self.setup.file, &mut state.error);
        let name = self.name(self.kind(direction));
        let planner = &self.setup.exchange;
        // A user who asks for hosts by themselves gets them; bytes that are buffered have no times.
        let weighs = rank == 0 && planner.learns() && file.hints.host_domains == Switch::Automatic;
        let learned = &mut self.calls.learned;
        let weighing = data.filter(|_| weighs).map(|_| Weighing { learned, planner });
        // The contribution is large, so it is made where it stays.
        let contribution = contribution(votes, rules, access, data);
        let mut own = OpeningVote { contribution, votes, file, rules, rank, arena, storage, data, weighing, error };
        own.contribution.facts.is_sole = call.is_sole;
        own.contribution.facts.wants_early = wants_early && direction == Direction::Write;
        own.contribution.facts.have_sieved = self.calls.early.have_sieved();
        self.observers.begin(self.endpoint.waiting(), name);
        let runs = own.agree(&mut self.endpoint, team, &mut state.agreed).await;
        self.observers.end();
        runs
    }

    /// Ends a call: all ranks agree on its outcome, unless they know it already. Collective.
    async fn finish(&mut self, team: &Team, direction: Direction, state: &mut CallState<'_>) -> Result<CallReport> {
        let CallState { error, agreed, all, has_learned, own, .. } = state;
        if let Some(fault) = agreed.failed {
            let call = (self.kind(direction), self.name(self.kind(direction)));
            return Err(Box::pin(self.fault(fault, error.take(), call)).await?);
        }
        if let Some(own) = own {
            self.observers.moved(own, all.is_none());
            if all.is_none() {
                let outcome = CallOutcome::new(self.endpoint.rank(), own, &self.observers.clock);
                let agreed = agree_on_outcome(&mut self.endpoint, team, outcome, None).await;
                self.observers.end();
                *all = Some(agreed?);
            }
        }
        let all = all.get_or_insert_default();
        if let Some(failed) = all.failed {
            let error = own.as_ref().and_then(|own| own.outcome.error.as_ref());
            return Err(broadcast_error(&mut self.endpoint, failed, error).await?);
        }
        // Learn from writes, or from reads of a file that is only read, so that writes and reads can use the same plan.
        let shows = direction == Direction::Write || self.setup.file.mode == Mode::Read;
        if let (Path::Exchange, Some(own), true) = (agreed.decision.path, own.as_ref(), shows && !*has_learned) {
            self.learn_times(&agreed.shape.left, own, all);
        }
        let is_weighed = agreed.shape.apart.is_some() && matches!(agreed.decision.path, Path::Hosts | Path::Exchange);
        if direction == Direction::Write && is_weighed {
            self.learn_ways(agreed, all);
        }
        let aggregators = self.setup.aggregators(agreed.decision.path, &agreed.shape.left);
        Ok(all.report(direction, agreed, aggregators, own.as_ref()))
    }

    /// Begins a collective call if hosts cache independently. Makes the bytes visible that this rank has written in
    /// independent calls. For a call that reads, then reopens the file, after all ranks have made their bytes visible. The
    /// inner result is this rank's outcome. Collective: a call that reads costs one more agreement, which also finds ranks in
    /// different calls.
    ///
    /// # Errors
    /// Ranks are in different calls; errors of the message transport. The inner errors are the errors of
    /// [`publish_writes`](crate::engine::io::handle::publish_writes).
    async fn see_other_hosts(&mut self, direction: Direction) -> Result<Result<()>> {
        if self.setup.file.mode == Mode::Read {
            return Ok(Ok(()));
        }
        let passed = self.handle.publish_own_bytes();
        // A write that fills holes also reads.
        if direction == Direction::Read || self.setup.file.hints.ds_write == Switch::Enable {
            self.agree_without_data(self.kind(direction), Ok(()), AccessStats::NONE).await?;
            self.handle.reopen_lazily();
        }
        self.handle.note_others_bytes();
        Ok(passed)
    }

    /// Makes the first agreement of a call without data: sync, close and the like. `checked` is this rank's error, and `all`
    /// are statistics that are merged like those of writes and reads. Collective: one agreement.
    ///
    /// # Errors
    /// The same on every rank: ranks are in different calls, or the error of the lowest rank that has one. Errors of
    /// the message transport.
    pub(super) async fn agree_without_data(
        &mut self,
        kind: CallKind,
        checked: Result<()>,
        all: AccessStats,
    ) -> Result<Agreed> {
        let (name, rank, team) = (self.name(kind), self.endpoint.rank(), self.setup.groups.team.clone());
        let facts = Facts { all, ..Facts::without_data(kind, rank) };
        let contribution = Contribution::new(facts, Footprint::unknown(0));
        let deferred = self.handle.write_behind.as_ref().and_then(|write_behind| write_behind.bring_error());
        let (mut agreed, mut error) = (Agreed::default(), deferred.or(checked.err()));
        let (votes, file, rules) = (&self.setup.votes, &*self.setup.file, self.setup.rules(Direction::Write));
        let (arena, storage) = (None, None);
        let (data, weighing, error_of_rank) = (None, None, &mut error);
        let mut own = OpeningVote {
            votes,
            file,
            rules,
            rank,
            contribution,
            arena,
            storage,
            data,
            weighing,
            error: error_of_rank,
        };
        self.observers.begin(self.endpoint.waiting(), name);
        let came = own.agree(&mut self.endpoint, &team, &mut agreed).await;
        self.observers.end();
        came?;
        let outcome = match agreed.failed {
            Some(fault) => Err(self.fault(fault, error, (kind, name)).await?),
            None => Ok(agreed),
        };
        self.observers.left(outcome.is_err());
        if let Some(write_behind) = &self.handle.write_behind {
            write_behind.returned(&outcome);
        }
        outcome
    }

    /// Returns the error of a failed first agreement in `call` (kind, name). If a rank closes the file while other ranks make
    /// other calls, no rank can use the file any more. Collective.
    async fn fault(&mut self, fault: CallFault, own: Option<Error>, call: (CallKind, &str)) -> Result<Error> {
        if let Some(rank) = fault.closed_by() {
            self.calls.state = FileState::ClosedBy(rank);
        }
        agreed_error(&mut self.endpoint, fault, own, (call, &self.setup.file.path)).await
    }

    /// Returns how an access relates to the accesses of the kept plans, and about how many windows of the file the access
    /// touches (the plan may not fit on another rank).
    fn plan_shift(&self, file: &Extents, layout: &BufferLayout) -> (AccessShift, u64) {
        let touched = || self.setup.exchange.roles.touched(file);
        let (shift, plan) = self.calls.plans.find_shift(file, layout);
        (shift, plan.map_or_else(touched, |plan| plan.touched(touched)))
    }

    /// Returns the rules for calls of a team.
    fn rules(&self, team: &Team, direction: Direction) -> Rules<'_> {
        Rules { in_memory: team.is_host(), ..self.setup.rules(direction) }
    }

    /// Returns true if this rank gains by moving its bytes before the ranks agree. If ranks overlap, they repeat the
    /// write after the agreement.
    fn wants_early(&self, rules: Rules<'_>, extents: &Extents) -> bool {
        match rules.direction {
            Direction::Write => {
                let has_own_core =
                    self.setup.shares_memory && self.setup.groups.host().is_some_and(|host| host.spins());
                !self.calls.may_overlap && rules.can_write_before_agreement(extents, has_own_core)
            }
            Direction::Read => rules.can_read_before_agreement(extents, self.calls.reads_disjoint),
        }
    }

    /// Keeps what is learned from a call for the next one. (Nothing is learned from a read in which no rank wanted
    /// bytes.)
    fn learn(&mut self, team: &Team, direction: Direction, agreed: &Agreed) {
        match direction {
            Direction::Write => self.calls.may_overlap |= agreed.redone,
            Direction::Read if agreed.shape.all.bytes > 0 && !team.is_host() => {
                self.calls.reads_disjoint = self.rules(team, direction).reads_apart(&agreed.shape);
            }
            Direction::Read => {}
        }
    }

    /// Writes or reads directly, without other ranks. Local.
    fn move_directly(&mut self, Access { file, layout, memory }: Access<'_>) -> Outcome {
        match memory {
            Memory::Source(memory) => self.handle.write_directly(Access { file, layout, memory }),
            Memory::Sink(memory) => self.handle.read_directly(Access { file, layout, memory }),
        }
    }

    /// Lets other hosts see the bytes that this rank has written, if hosts cache independently; copies bytes that were
    /// read to device memory, if the program's buffer is there. Local.
    fn pass(&self, call: &mut CallAccess<'_>, outcome: &mut Outcome) {
        if let (Some(device), Memory::Sink(staged)) = (&mut call.device, &mut call.access.memory) {
            copy_to_device((self.endpoint.rank(), &self.setup.file.path), staged, device, outcome);
        }
        self.handle.publish_outcome(call.access.direction(), outcome);
    }
}
