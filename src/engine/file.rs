//! An open shared file: its state, and what all calls on it have in common.

use std::sync::Arc;

use crate::drivers::Layout;
use crate::engine::capture::target::CaptureTarget;
use crate::engine::direction::Direction;
use crate::engine::facts::calls::{CallForm, CallKind};
use crate::engine::handle::FileHandle;
use crate::engine::observers::Observers;
use crate::engine::plan::cached::Plans;
use crate::engine::policy::early::{EarlyWrites, WritersBeside};
use crate::engine::policy::learned::{Learned, LearnedFacts};
use crate::engine::setup::Setup;
use crate::engine::storage::OpenStorage;
use crate::engine::watchdog::StallWatchdog;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::hints::{DriverName, Hints, Switch};
use crate::topology::{Rank, Topology};

/// An open file. If a method is collective, all ranks must call it, in the same order, and all get the same error or
/// none. Other methods are local.
pub struct File {
    pub(in crate::engine) endpoint: Endpoint,
    /// What is fixed when the file is opened.
    pub(in crate::engine) setup: Setup,
    /// This rank's handle of the file, which it opens when it first needs it.
    pub(in crate::engine) handle: FileHandle,
    /// What calls leave for the next calls.
    pub(in crate::engine) calls: FileCalls,
    /// Who observes the calls.
    pub(in crate::engine) observers: Observers,
}

/// What the calls on a file leave for the next calls, and what the caller sets for them.
#[derive(Default)]
pub struct FileCalls {
    /// Plans of earlier calls.
    pub plans: Plans,
    /// What exchanges have shown about the next ones.
    pub learned: Learned,
    /// True if ranks may have written the same bytes in some call.
    pub may_overlap: bool,
    /// True if, in the last read, ranks certainly wanted different bytes and may read by themselves.
    pub reads_disjoint: bool,
    /// The decision if ranks may write before all are in the call.
    pub early: EarlyWrites,
    /// The value of [`File::set_sole_writer`]; `None` if the caller did not set it.
    pub sole_writer: Option<bool>,
    /// Name of the next calls in messages, if the caller set one (for example the MPI function).
    pub name: Option<&'static str>,
    /// Form of the next writes and reads.
    pub form: CallForm,
    /// The state, which determines the possible calls.
    pub state: FileState,
    /// True while a call runs whose future is polled to its end before the program can use or free its memory: by
    /// [`File::write_now`] itself, or as the caller of [`File::write_all_to_end`] promises.
    pub returns_at_end: bool,
}

/// The state of a file. A file can be closed in every state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileState {
    /// All calls are possible.
    #[default]
    Ready,
    /// An operation is running, or was dropped before its end.
    Running,
    /// A call failed with an error that the other ranks do not know.
    Failed,
    /// The given rank closed the file while other ranks made other calls.
    ClosedBy(Rank),
}

impl File {
    /// Returns the open file of a setup. With a `target`, the file records its calls for a capture.
    pub(in crate::engine) fn from_setup(
        endpoint: Endpoint,
        setup: Setup,
        files: Arc<dyn OpenStorage>,
        target: Option<&'static CaptureTarget>,
    ) -> Self {
        let handle = FileHandle::new(files, endpoint.rank(), &setup);
        let seconds = stall_timeout_of(&endpoint, &setup.hints);
        let known = (setup.host().cloned(), Some(endpoint.waiting().clone()));
        let watchdog = StallWatchdog::new(&setup.path, endpoint.rank(), seconds, known);
        let observers = Observers::new(watchdog, target, (endpoint.rank(), endpoint.ranks()));
        let calls = FileCalls { learned: setup.learned.clone(), ..FileCalls::default() };
        Self { endpoint, setup, handle, calls, observers }
    }

    /// Sets the name of the next collective calls for messages: the line of the stall watchdog (`StallWatchdog`), and
    /// the error of ranks in different calls. Local.
    pub fn call_them(&mut self, name: &'static str) {
        self.call_as(name, CallForm::Blocking);
    }

    /// Sets the name of the next collective calls like [`File::call_them`], and the form of the next writes and reads. Ranks
    /// whose calls have different forms all get an error ([`Error::CallsDiffer`]). Local.
    pub fn call_as(&mut self, name: &'static str, form: CallForm) {
        (self.calls.name, self.calls.form) = (Some(name), form);
    }

    /// Returns the kind of a write or read, in the form that the caller has set.
    pub(in crate::engine) fn kind(&self, direction: Direction) -> CallKind {
        (direction, self.calls.form).into()
    }

    /// Returns the name of a call in messages: the caller's own name for it (for example the MPI function), or the name
    /// of `kind`.
    pub(in crate::engine) fn name(&self, kind: CallKind) -> &'static str {
        self.calls.name.unwrap_or_else(|| kind.name())
    }

    /// Sets whether this file has no other writer during a blocking call on it: no other program, rank, thread or call
    /// in flight, through this handle or another. If it is true on all ranks, a blocking write may read the gaps
    /// between its pieces and write them back with the pieces (`romio_ds_write`); otherwise it writes its pieces only.
    /// Without this call, the value is true only if the hint `romio_ds_write` is `enable`. Local.
    pub fn set_sole_writer(&mut self, is_sole: bool) {
        self.calls.sole_writer = Some(is_sole);
    }

    /// Sets what this rank knows of another library that may write the file between collective calls, by data sieving.
    /// Each rank sets it before each call, or none does. Local.
    pub fn set_writers_beside(&mut self, beside: WritersBeside) {
        self.calls.early.set(beside);
    }

    /// Returns true if a rank may write its pieces before other ranks are in the next call, although
    /// [`File::set_writers_beside`] named another writer: until the end of that call this rank must keep the other
    /// library from data sieving. The same on all ranks. Local.
    pub fn lets_ranks_write_early(&self) -> bool {
        self.calls.early.are_agreed_on()
    }

    /// Returns true if no one else can write the file during the current call, as far as this rank knows.
    pub(in crate::engine) fn is_sole_writer(&self) -> bool {
        self.calls.returns_at_end && self.calls.sole_writer.unwrap_or(self.setup.hints.ds_write == Switch::Enable)
    }

    /// Checks that calls are possible: no operation was dropped before its end (its messages may still be in flight),
    /// and no rank has closed the file.
    pub(in crate::engine) fn usable(&self) -> Result<()> {
        let why = match self.calls.state {
            FileState::Ready => return Ok(()),
            FileState::Running => "an operation on the file was dropped before its end".to_string(),
            FileState::Failed => "an earlier call on the file failed before its end".to_string(),
            FileState::ClosedBy(rank) => format!("rank {rank} closed the file while other ranks made other calls"),
        };
        Err(Error::state(format!("{why}; close the file, no other call is possible")))
    }

    /// Begins a call: marks the file as running. Fails if no call is possible.
    pub(in crate::engine) fn begin(&mut self) -> Result<()> {
        self.usable()?;
        self.calls.state = FileState::Running;
        Ok(())
    }

    /// Ends a call. After an error that other ranks do not know, messages may be in flight, and the file is not usable.
    pub(in crate::engine) fn end<T>(&mut self, outcome: &Result<T>) {
        self.observers.left(outcome.is_err());
        self.calls.state = match self.calls.state {
            closed @ FileState::ClosedBy(_) => closed,
            _ if outcome.as_ref().is_err_and(Error::is_unagreed) => FileState::Failed,
            _ => FileState::Ready,
        };
    }

    /// Returns why the ranks of a host share no memory although the hints allow it, as far as this rank knows. `None`
    /// if they share memory, or the hints do not allow it.
    pub fn without_shared_memory(&self) -> Option<&str> {
        self.setup.hosts.as_ref().and_then(|hosts| hosts.refusal())
    }

    /// Returns why collective writes leave no bytes behind although the hint `trib_write_behind` asks for it. `None` if
    /// they do, or if the hint does not ask for it.
    pub fn without_write_behind(&self) -> Option<&'static str> {
        self.setup.no_write_behind
    }

    /// Returns the storage driver of the file.
    pub fn driver(&self) -> DriverName {
        self.setup.driver_name
    }

    /// Returns the layout of the file on its file system: stripes or blocks.
    pub fn layout(&self) -> Layout {
        self.setup.layout
    }

    /// Returns the maximum size of a window in bytes: the part of the file that an aggregator holds in one round. A
    /// stripe may be larger.
    pub fn window(&self) -> u64 {
        self.setup.window_terms().0
    }

    /// Returns the ranks that are aggregators, in ascending order.
    pub fn aggregators(&self) -> &[Rank] {
        &self.setup.roles.aggregators
    }

    /// Returns the maximum size of a window in bytes in the last exchange by messages; `None` before the first.
    pub fn exchange_window(&self) -> Option<u64> {
        self.calls.plans.current().map(|plan| plan.domains.window_bytes())
    }

    /// Returns what exchanges on this file, or on the last file on the same file system, have shown about the next ones;
    /// `None` if nothing changed by it.
    pub fn learned(&self) -> Option<LearnedFacts> {
        LearnedFacts::of(&self.calls.learned, self.aggregators())
    }

    /// Returns true if collective calls go through memory that all ranks share, without messages.
    pub fn shares_memory(&self) -> bool {
        self.setup.shares_memory
    }

    /// Returns the ranks and their nodes.
    pub fn topology(&self) -> &Topology {
        &self.setup.topology
    }

    /// Returns the hints in force for the file.
    pub fn hints(&self) -> &Hints {
        &self.setup.hints
    }

    /// Returns the file's endpoint, for collectives between calls on the file.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

/// Returns the value of the hint `trib_stall_timeout` in seconds, or 0 (no warning) if there is no other rank.
pub(in crate::engine) fn stall_timeout_of(endpoint: &Endpoint, hints: &Hints) -> usize {
    if endpoint.ranks() > 1 { hints.stall_timeout } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shared::Arena;
    use crate::fabric::{Waiting, shared};

    fn goes_to_another_thread<T: Send>() {}

    /// All parts of a file can be sent to another thread, except the transport: MPI decides which threads may call it.
    #[test]
    fn the_shared_parts_of_a_file_are_send() {
        goes_to_another_thread::<(Setup, FileHandle, Plans)>();
        goes_to_another_thread::<Arc<Arena>>();
        goes_to_another_thread::<(Waiting, Arc<shared::Shared>, Arc<shared::GroupMemory>)>();
    }
}
