//! An open shared file: its state, and what all calls on it have in common.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::collectives::team::Team;
use crate::drivers::{DirectWrites, Layout};
use crate::engine::capture::recording::Recording;
use crate::engine::capture::target::CaptureTarget;
use crate::engine::plan::cached::Plans;
use crate::engine::record::timeline::{RankTimeline, TimelineWriter};
use crate::engine::record::totals::CallTotals;
use crate::engine::setup::Setup;
use crate::engine::shared::Arena;
use crate::engine::storage::window_queue::WindowQueue;
use crate::engine::storage::worker::Worker;
use crate::engine::storage::{OpenStorage, Storage, StorageFailure, guarded};
use crate::engine::watchdog::{CallStage, StallWatchdog};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::hints::{DriverName, Hints, Switch};
use crate::topology::{Rank, Topology};

/// An open file. If a method is collective, all ranks must call it, in the same order, and all get the same error or
/// none. Other methods are local.
pub struct File {
    pub(in crate::engine) endpoint: Endpoint,
    pub(in crate::engine) setup: Setup,
    files: Arc<dyn OpenStorage>,
    /// This rank's handle. The file opens it when it is first needed.
    storage: Option<Arc<dyn Storage>>,
    /// Visibility of bytes between this host and other hosts, if hosts cache independently.
    pub(in crate::engine) handle: HandleState,
    pub(in crate::engine) queue: Option<WindowQueue>,
    pub(in crate::engine) plans: Plans,
    /// Number of rounds of this aggregator with each fan-in.
    pub(in crate::engine) fan_in: BTreeMap<u32, u64>,
    /// Windows in shared memory, of all ranks or of the ranks of this host.
    arena: Option<Arc<Arena>>,
    /// True if ranks may have written the same bytes in some call.
    pub(in crate::engine) may_overlap: bool,
    /// True if, in the last read, ranks certainly wanted different bytes and may read by themselves.
    pub(in crate::engine) reads_disjoint: bool,
    /// Recorded calls of this rank, if calls are captured.
    pub(in crate::engine) recording: Option<Recording>,
    /// The timeline of this rank, if it is recorded.
    pub(in crate::engine) timeline: Option<Box<TimelineWriter>>,
    pub(in crate::engine) watchdog: Arc<StallWatchdog>,
    /// The value of [`File::set_sole_writer`]; `None` if the caller did not set it.
    pub(in crate::engine) sole_writer: Option<bool>,
    /// Name of the next calls in messages, if the caller set one (for example the MPI function).
    pub(in crate::engine) called: Option<&'static str>,
    /// The state, which determines the possible calls.
    pub(in crate::engine) state: FileState,
    /// True while a blocking call runs, which cannot be dropped before its end.
    pub(in crate::engine) returns_at_end: bool,
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

/// State of this rank's handle on file systems whose clients cache independently (NFS): which bytes hosts do not see
/// yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct HandleState {
    /// True if this rank has written bytes that other hosts do not see yet.
    pub is_ahead: bool,
    /// True if other hosts may have written since this rank opened the file.
    pub is_behind: bool,
    /// True if a handle was closed whose bytes may not be on stable storage.
    pub was_closed: bool,
}

impl File {
    /// Returns the open file of a setup. With a `target`, the file records its calls for a capture.
    pub(in crate::engine) fn from_setup(
        endpoint: Endpoint,
        setup: Setup,
        files: Arc<dyn OpenStorage>,
        target: Option<&'static CaptureTarget>,
    ) -> Self {
        let (storage, handle, queue, plans) = Default::default();
        let shared = match setup.shares_memory {
            true => endpoint.shared(),
            false => setup.hosts.as_ref().and_then(|hosts| hosts.here().cloned()),
        };
        let seconds = stall_timeout_of(&endpoint, &setup.hints);
        let known = (shared.clone(), Some(endpoint.waiting().clone()));
        let watchdog = StallWatchdog::new(&setup.path, endpoint.rank(), seconds, known);
        let arena = shared.map(|shared| Arc::new(Arena::new(shared)));
        let (fan_in, may_overlap, reads_disjoint, state, returns_at_end) = Default::default();
        let recording = target.map(|target| Recording::new(target, endpoint.rank(), endpoint.ranks()));
        Self {
            endpoint,
            setup,
            files,
            storage,
            handle,
            queue,
            plans,
            fan_in,
            arena,
            may_overlap,
            reads_disjoint,
            recording,
            timeline: None,
            watchdog,
            sole_writer: None,
            called: None,
            state,
            returns_at_end,
        }
    }

    /// Sets the name of the next collective calls for messages: the line of the stall watchdog (`StallWatchdog`), and
    /// the error of ranks in different calls. Local.
    pub fn call_them(&mut self, name: &'static str) {
        self.called = Some(name);
    }

    /// Sets whether this file has no other writer during a blocking call on it: no other program, rank, thread or call
    /// in flight, through this handle or another. If it is true on all ranks, a blocking write may read the gaps
    /// between its pieces and write them back with the pieces (`romio_ds_write`); otherwise it writes its pieces only.
    /// Without this call, the value is true only if the hint `romio_ds_write` is `enable`. Local.
    pub fn set_sole_writer(&mut self, is_sole: bool) {
        self.sole_writer = Some(is_sole);
    }

    /// Returns true if no one else can write the file during the current call, as far as this rank knows.
    pub(in crate::engine) fn is_sole_writer(&self) -> bool {
        self.returns_at_end && self.sole_writer.unwrap_or(self.setup.hints.ds_write == Switch::Enable)
    }

    /// Checks that calls are possible: no operation was dropped before its end (its messages may still be in flight),
    /// and no rank has closed the file.
    pub(in crate::engine) fn usable(&self) -> Result<()> {
        let why = match self.state {
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
        self.state = FileState::Running;
        Ok(())
    }

    /// Ends a call. After an error that other ranks do not know, messages may be in flight, and the file is not usable.
    pub(in crate::engine) fn end<T>(&mut self, outcome: &Result<T>) {
        let failure = self.endpoint.waiting().failure();
        self.state = match self.state {
            closed @ FileState::ClosedBy(_) => closed,
            _ if outcome.as_ref().is_err_and(|error| failure.is_unagreed(error)) => FileState::Failed,
            _ => FileState::Ready,
        };
    }

    /// Ends an exchange: waits for the worker and sums up the counts.
    pub(in crate::engine) async fn settle(&mut self, done: &mut CallTotals) {
        if let Some(queue) = &mut self.queue {
            self.watchdog.go_on(CallStage::Settling);
            done.outcome = queue.finish().await;
        }
        if done.outcome.error.is_some() {
            // A file that could not be opened may be there the next time.
            self.queue = None;
        }
        for (fan_in, times) in std::mem::take(&mut done.counts.fan_in) {
            *self.fan_in.entry(fan_in).or_default() += times;
        }
    }

    /// Takes this rank's timeline, for the capture of a file that is closed.
    pub(in crate::engine) fn take_timeline(&mut self) -> Option<RankTimeline> {
        let timeline = self.timeline.take()?;
        Some(timeline.finished(self.fan_in.iter().map(|(&fan_in, &times)| (fan_in, times))))
    }

    /// Returns the number of hosts, if it is known.
    pub(in crate::engine) fn hosts(&self) -> usize {
        self.setup.hosts.as_ref().map_or(0, |hosts| hosts.leaders().len())
    }

    /// Returns the team of all ranks.
    #[inline]
    pub(in crate::engine) fn team(&self) -> Team {
        match (&self.arena, &self.setup.hosts) {
            (Some(arena), _) if self.setup.shares_memory => Team::Host(arena.team().clone()),
            (_, Some(hosts)) if hosts.shares() => Team::Hosts(hosts.clone()),
            _ => Team::Ranks,
        }
    }

    /// Returns the team of the ranks of this host; `None` if this rank shares memory with no other.
    pub(in crate::engine) fn host_team(&self) -> Option<Team> {
        self.arena.as_ref().map(|arena| Team::Host(arena.team().clone()))
    }

    /// Returns the shared memory of windows. An error if this rank shares no memory.
    pub(in crate::engine) fn arena(&self) -> Result<Arc<Arena>> {
        let rank = self.endpoint.rank();
        self.arena.clone().ok_or_else(|| Error::Internal { rank, what: "no shared memory for the file".to_string() })
    }

    /// Returns this rank's own handle, and opens it if needed.
    pub(in crate::engine) fn storage(&mut self) -> Result<Arc<dyn Storage>> {
        if let Some(storage) = &self.storage {
            return Ok(storage.clone());
        }
        let Setup { path, mode, .. } = &self.setup;
        let failure = |cause| StorageFailure { operation: "open", offset: None, cause };
        let open = || {
            let file = self.files.open(path, *mode).map_err(failure)?;
            if self.setup.hosts_cache_apart {
                file.see_other_hosts().map_err(failure)?;
            }
            self.setup.is_the_same(file)
        };
        let opened = guarded("open", None, open).map_err(|failure| failure.into_error(self.endpoint.rank(), path));
        let storage: Arc<dyn Storage> = match self.setup.layout.direct_from {
            Some(from) => Arc::new(DirectWrites::over(opened?, from)),
            None => opened?.into(),
        };
        self.storage = Some(storage.clone());
        Ok(storage)
    }

    /// Returns this rank's handle, if it is open.
    pub(in crate::engine) fn open_storage(&self) -> Option<&Arc<dyn Storage>> {
        self.storage.as_ref()
    }

    /// Takes this rank's handle, if it is open. Dropping the handle closes it.
    pub(in crate::engine) fn take_storage(&mut self) -> Option<Arc<dyn Storage>> {
        self.storage.take()
    }

    /// Closes this rank's handle.
    pub(in crate::engine) fn close_storage(&mut self) {
        (self.queue, self.storage) = (None, None);
    }

    pub(in crate::engine) fn open_queue(&mut self) -> WindowQueue {
        let (rank, path) = (self.endpoint.rank(), self.setup.path.clone());
        let waker = self.endpoint.waiting().waker();
        let start =
            |storage| Worker::start(storage, waker).map_err(|cause| Error::io(rank, "open", &path, None, &cause));
        let worker = self.storage().and_then(start);
        WindowQueue::new(worker, &self.setup.hints, self.setup.window_terms().1, rank, path)
    }

    /// Returns why the ranks of a host share no memory although the hints allow it, as far as this rank knows. `None`
    /// if they share memory, or the hints do not allow it.
    pub fn without_shared_memory(&self) -> Option<&str> {
        self.setup.hosts.as_ref().and_then(|hosts| hosts.refusal())
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
    use crate::fabric::{Waiting, shared};

    fn goes_to_another_thread<T: Send>() {}

    /// All parts of a file can be sent to another thread, except the transport: MPI decides which threads may call it.
    #[test]
    fn the_shared_parts_of_a_file_are_send() {
        goes_to_another_thread::<(Setup, Option<WindowQueue>, Plans)>();
        goes_to_another_thread::<(Arc<Arena>, Arc<dyn Storage>, Arc<dyn OpenStorage>)>();
        goes_to_another_thread::<(Waiting, Arc<shared::Shared>, Arc<shared::GroupMemory>)>();
    }
}
