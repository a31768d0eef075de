//! A shared file that all ranks write and read together: open and close, and the common parts of its calls.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use crate::access::{BufferLayout, Extents, Source, varint};
use crate::collectives::{agree, broadcast, gather};
use crate::drivers::{DirectWrites, Layout, Mode};
use crate::engine::api::diary::DiaryWriter;
use crate::engine::api::finish_call::CallTotals;
use crate::engine::api::operation::Operation;
use crate::engine::api::patience::{Part, Patience};
use crate::engine::api::report::{CallReport, FanIn};
use crate::engine::api::setup::Setup;
use crate::engine::api::visible::Handle;
use crate::engine::call::{Call, CallMemory};
use crate::engine::capture::recording::Recording;
use crate::engine::capture::target::Target;
use crate::engine::plan::Direction;
use crate::engine::plan::cached::Plans;
use crate::engine::shared::Arena;
use crate::engine::storage::window_queue::WindowQueue;
use crate::engine::storage::worker::Worker;
use crate::engine::storage::{Failure, OpenStorage, Storage, SystemFiles, guarded};
use crate::error::{Error, Result};
use crate::fabric::{Endpoint, pool};
use crate::hints::{DriverName, Hints, OnFailure};
use crate::topology::{Rank, Topology};

/// An open file. Methods that say so are collective: all ranks call them, in the same order, and all get the same error or
/// none. Other methods are local.
pub struct File {
    pub(in crate::engine) endpoint: Endpoint,
    pub(in crate::engine) setup: Setup,
    files: Arc<dyn OpenStorage>,
    /// This rank's own handle, opened when it is first needed.
    storage: Option<Arc<dyn Storage>>,
    /// What other hosts see of it, and it of theirs.
    pub(in crate::engine) handle: Handle,
    pub(in crate::engine) queue: Option<WindowQueue>,
    pub(in crate::engine) plans: Plans,
    fan_in: BTreeMap<u32, u64>,
    /// Windows in the memory that all ranks share, or those of this host.
    arena: Option<Arc<Arena>>,
    /// Whether in some call ranks may have written the same bytes.
    pub(in crate::engine) may_overlap: bool,
    /// Whether in the last read ranks wanted different bytes, for sure, where they may read by themselves.
    pub(in crate::engine) reads_disjoint: bool,
    /// The calls so far, where they are captured.
    pub(in crate::engine) recording: Option<Recording>,
    /// The diary of this rank, where one is kept.
    pub(in crate::engine) diary: Option<Box<DiaryWriter>>,
    /// Watches how long calls wait for ranks to come.
    pub(in crate::engine) patience: Arc<Patience>,
    /// What the caller calls the next calls, if it has its own names for them.
    pub(in crate::engine) called: Option<&'static str>,
    /// Set while an operation runs; still set if one was dropped in the middle.
    pub(in crate::engine) busy: bool,
    /// Set while a call runs that does not return before its end, so that nobody can drop it in the middle.
    pub(in crate::engine) returns_at_end: bool,
}

impl File {
    /// Opens `path` on all ranks of `endpoint`, which the file owns until [`File::close`]. Collective, with the same path, mode
    /// and hints.
    ///
    /// # Errors
    /// Bad or different arguments, or the file cannot be created or opened: the same on all ranks.
    pub fn open(endpoint: Endpoint, path: impl Into<PathBuf>, mode: Mode, hints: Hints) -> Result<Self> {
        Self::open_on(endpoint, path, mode, hints, Arc::new(SystemFiles))
    }

    /// As [`File::open`], with another storage in place of the operating system's files. Collective.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_on(
        endpoint: Endpoint,
        path: impl Into<PathBuf>,
        mode: Mode,
        hints: Hints,
        files: Arc<dyn OpenStorage>,
    ) -> Result<Self> {
        let waiting = endpoint.waiting().clone();
        waiting.wait(pin!(Self::opened(endpoint, path.into(), mode, hints, files)))
    }

    /// As [`File::open`], as a future that the program polls. Collective.
    ///
    /// # Errors
    /// As [`File::open`].
    pub async fn open_async(endpoint: Endpoint, path: impl Into<PathBuf>, mode: Mode, hints: Hints) -> Result<Self> {
        Self::opened(endpoint, path.into(), mode, hints, Arc::new(SystemFiles)).await
    }

    async fn opened(
        mut endpoint: Endpoint,
        path: PathBuf,
        mode: Mode,
        hints: Hints,
        files: Arc<dyn OpenStorage>,
    ) -> Result<Self> {
        let waiting = endpoint.waiting().clone();
        waiting.failure().set_returning(hints.on_failure == OnFailure::Return);
        let target = Target::of_process();
        let patience = Patience::new(&path, endpoint.rank(), patience_of(&endpoint, &hints), (None, None));
        patience.begin_in(&waiting, "the opening");
        let setup = waiting.call(pin!(Setup::open(&mut endpoint, &*files, path, mode, hints, target))).await;
        patience.end();
        let setup = setup?;
        let target = target.filter(|_| setup.is_captured);
        endpoint.count_between(setup.topology.clone());
        let mut file = Self::of(endpoint, setup, files, target);
        if target.is_some() {
            file.diary = Some(Box::new(DiaryWriter::new(file.endpoint.ranks())));
        }
        Ok(file)
    }

    /// The file of a setup; its calls are recorded for a capture that goes to `target`.
    pub(in crate::engine) fn of(
        endpoint: Endpoint,
        setup: Setup,
        files: Arc<dyn OpenStorage>,
        target: Option<&'static Target>,
    ) -> Self {
        let (storage, handle, queue, plans) = Default::default();
        let shared = match setup.shares_memory {
            true => endpoint.shared(),
            false => setup.hosts.as_ref().and_then(|hosts| hosts.here().cloned()),
        };
        let seconds = patience_of(&endpoint, &setup.hints);
        let known = (shared.clone(), Some(endpoint.waiting().clone()));
        let patience = Patience::new(&setup.path, endpoint.rank(), seconds, known);
        let arena = shared.map(|shared| Arc::new(Arena::new(shared)));
        let (fan_in, may_overlap, reads_disjoint, busy, returns_at_end) = Default::default();
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
            diary: None,
            patience,
            called: None,
            busy,
            returns_at_end,
        }
    }

    /// What the caller calls the next collective calls, in a line that says that a rank waits ([`Patience`]). Local.
    pub fn call_them(&mut self, name: &'static str) {
        self.called = Some(name);
    }

    /// Checks that no operation was dropped before its end: its messages may still be in flight.
    pub(in crate::engine) fn usable(&self) -> Result<()> {
        if self.busy {
            let allowed = "only to close it, which gives no endpoint back";
            return Err(Error::argument("file", "an operation on it was dropped in the middle", allowed));
        }
        Ok(())
    }

    /// Begins a call.
    pub(in crate::engine) fn begin(&mut self) -> Result<()> {
        self.usable()?;
        self.busy = true;
        Ok(())
    }

    /// Ends a call. After an error that other ranks do not know, messages may be in flight, and the file is not usable.
    pub(in crate::engine) fn end<T>(&mut self, outcome: &Result<T>) {
        let failure = self.endpoint.waiting().failure();
        self.busy = outcome.as_ref().is_err_and(|error| failure.is_unagreed(error));
    }

    /// Ends an exchange: waits for the worker and adds up the counts.
    pub(in crate::engine) async fn settle(&mut self, done: &mut CallTotals) {
        if let Some(queue) = &mut self.queue {
            self.patience.go_on(Part::Settling);
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

    /// (fan-in, number of this aggregator's rounds that had it), ascending.
    pub(in crate::engine) fn fan_in_counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.fan_in.iter().map(|(&fan_in, &times)| (fan_in, times))
    }

    /// The number of hosts, where they are known.
    pub(in crate::engine) fn hosts(&self) -> usize {
        self.setup.hosts.as_ref().map_or(0, |hosts| hosts.leaders().len())
    }

    /// Whether this rank shares memory with others of its host, or all.
    pub(in crate::engine) fn has_arena(&self) -> bool {
        self.arena.is_some()
    }

    /// The windows in shared memory.
    pub(in crate::engine) fn arena(&self) -> Result<Arc<Arena>> {
        let rank = self.endpoint.rank();
        self.arena.clone().ok_or_else(|| Error::Internal { rank, what: "no shared memory for the file".to_string() })
    }

    /// This rank's own handle.
    pub(in crate::engine) fn storage(&mut self) -> Result<Arc<dyn Storage>> {
        if let Some(storage) = &self.storage {
            return Ok(storage.clone());
        }
        let Setup { path, mode, .. } = &self.setup;
        let failure = |cause| Failure { operation: "open", offset: 0, cause };
        let open = || {
            let file = self.files.open(path, *mode).map_err(failure)?;
            if self.setup.hosts_cache_apart {
                file.see_other_hosts().map_err(failure)?;
            }
            self.setup.is_the_same(file)
        };
        let opened = guarded("open", 0, open).map_err(|failure| failure.of(self.endpoint.rank(), path));
        let storage: Arc<dyn Storage> = match self.setup.layout.direct_from {
            Some(from) => Arc::new(DirectWrites::over(opened?, from)),
            None => opened?.into(),
        };
        self.storage = Some(storage.clone());
        Ok(storage)
    }

    /// This rank's own handle, if it is open.
    pub(in crate::engine) fn open_storage(&self) -> Option<&Arc<dyn Storage>> {
        self.storage.as_ref()
    }

    /// Closes this rank's own handle.
    pub(in crate::engine) fn close_storage(&mut self) {
        (self.queue, self.storage) = (None, None);
    }

    pub(in crate::engine) fn open_queue(&mut self) -> WindowQueue {
        let (rank, path) = (self.endpoint.rank(), self.setup.path.clone());
        let waker = self.endpoint.waiting().waker();
        let start = |storage| Worker::start(storage, waker).map_err(|cause| Error::io(rank, "open", &path, 0, &cause));
        let worker = self.storage().and_then(start);
        WindowQueue::new(worker, &self.setup.hints, self.setup.window_terms().1, rank, path)
    }

    /// The fan-in of the aggregators over all rounds of all calls so far; the same on all ranks. Collective.
    ///
    /// # Errors
    /// Those of the fabric; an operation was dropped before its end.
    pub fn fan_in(&mut self) -> Result<FanIn> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(async {
            let mut own = Vec::new();
            for (fan_in, times) in &self.fan_in {
                varint::put(&mut own, u64::from(*fan_in));
                varint::put(&mut own, *times);
            }
            let all = gather(&mut self.endpoint, 0, &own).await?.concat();
            let all = broadcast(&mut self.endpoint, 0, &all).await?;
            let mut at = 0;
            let mut next = || Some((varint::get(&all, &mut at)? as u32, varint::get(&all, &mut at)?));
            let mut counts = BTreeMap::<u32, u64>::new();
            while let Some((fan_in, times)) = next() {
                *counts.entry(fan_in).or_default() += times;
            }
            Ok(FanIn::of(counts))
        }))
    }

    /// Waits until everything written so far is on stable storage (fsync). Collective.
    ///
    /// # Errors
    /// The error of the lowest rank, on every rank; an operation was dropped before its end.
    pub fn sync(&mut self) -> Result<()> {
        self.sync_after(Ok(()))
    }

    /// As [`File::sync`], for a caller that has synchronised something of its own with outcome `own`. Collective.
    ///
    /// # Errors
    /// As [`File::sync`], or the `own` error of the lowest rank, on every rank.
    pub fn sync_after(&mut self, own: Result<()>) -> Result<()> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        let storage = self.storage_to_sync();
        let (rank, path) = (self.endpoint.rank(), &self.setup.path);
        let failed = |cause| Error::io(rank, "sync", path, 0, &cause);
        let synced =
            storage.and_then(|storage| storage.map_or(Ok(()), |storage| storage.sync()).map_err(failed)).and(own);
        self.patience.begin("a sync");
        let outcome = waiting.complete(pin!(agree(&mut self.endpoint, synced)));
        self.patience.end();
        self.note_others_bytes();
        outcome
    }

    /// Closes the file and returns the endpoint. Collective: no rank returns before all have written and closed their handles,
    /// so the file may be removed or its file system unmounted at once.
    ///
    /// # Errors
    /// The error of closing on any rank, on every rank; those of the fabric. If an operation was dropped before its end, the
    /// file is closed at once, without the other ranks, and the endpoint is lost.
    pub fn close(self) -> Result<Endpoint> {
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.close_async()))
    }

    /// As [`File::close`], as a future that the program polls. Collective.
    ///
    /// # Errors
    /// As [`File::close`].
    pub async fn close_async(mut self) -> Result<Endpoint> {
        let recording = self.take_recording();
        self.shut().await?;
        match recording {
            Some(recording) => Box::pin(recording.store(self.endpoint)).await,
            None => Ok(self.endpoint),
        }
    }

    /// Closes the handles, as [`File::close_async`], and keeps the endpoint. Collective.
    pub(in crate::engine) async fn shut(&mut self) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        self.queue = None;
        let (rank, path) = (self.endpoint.rank(), &self.setup.path);
        let settled = self.storage.take().map_or(Ok(()), |storage| storage.settle());
        let settled = settled.map_err(|cause| Error::io(rank, "close", path, 0, &cause));
        self.usable()?;
        self.patience.begin_in(&waiting, "the closing");
        let closed = waiting.call(pin!(agree(&mut self.endpoint, settled))).await;
        self.patience.end();
        closed?;
        pool::advise_unused();
        Ok(())
    }

    /// Agrees on an outcome: if any rank has an error, all ranks get the error of the lowest such rank. Collective.
    ///
    /// # Errors
    /// The agreed error.
    pub fn agree<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(agree(&mut self.endpoint, outcome)))
    }

    /// Takes part in a collective write or read with an error in place of an access. The call fails on every rank with the
    /// error of the lowest rank that has one, which is returned. Collective: the other ranks call [`File::write_all`],
    /// [`File::read_all`] or this method.
    pub fn refuse(&mut self, error: Error) -> Error {
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.refuse_async(error)))
    }

    /// As [`File::refuse`], as a future that the program polls. Collective.
    pub async fn refuse_async(&mut self, error: Error) -> Error {
        match self.begin() {
            Ok(()) => self.begun_refusal(error).await,
            Err(unusable) => unusable,
        }
    }

    /// As [`File::refuse`], for a call that other ranks start as an operation. The operation's outcome is the error. Collective.
    pub fn start_refuse(&mut self, error: Error) -> Operation<'_, CallReport> {
        let waiting = self.endpoint.waiting().clone();
        let begun = self.begin();
        let future = Box::pin(async move {
            begun?;
            Err(self.begun_refusal(error).await)
        });
        Operation::new(future, waiting)
    }

    async fn begun_refusal(&mut self, error: Error) -> Error {
        let waiting = self.endpoint.waiting().clone();
        let started = self.starts();
        let outcome = waiting.call(pin!(self.refusal(error))).await;
        self.end(&outcome);
        if let Err(error) = &outcome {
            self.record(Direction::Write, (&Extents::empty(), &BufferLayout::Contiguous), started, Err(error));
        }
        let rank = self.endpoint.rank();
        outcome.err().unwrap_or_else(|| Error::Internal { rank, what: "a refused call succeeded".to_string() })
    }

    async fn refusal(&mut self, error: Error) -> Result<()> {
        let none = Extents::empty();
        // The first agreements of a write and of a read are the same.
        let memory = CallMemory::Source(&BufferLayout::Contiguous, Source::from(&[]));
        self.call(&mut Call { asked: &none, extents: &none, memory, moved: 0 }, Err(error)).await.map(drop)
    }

    /// The driver in use.
    pub fn driver(&self) -> DriverName {
        self.setup.driver_name
    }

    /// The layout in use.
    pub fn layout(&self) -> Layout {
        self.setup.layout
    }

    /// What an aggregator holds of the file in one round, in bytes, at most. (Not of a stripe that is larger.)
    pub fn window(&self) -> u64 {
        self.setup.window_terms().0
    }

    /// The aggregators, ascending.
    pub fn aggregators(&self) -> &[Rank] {
        &self.setup.roles.aggregators
    }

    /// Ranks and nodes.
    pub fn topology(&self) -> &Topology {
        &self.setup.topology
    }

    /// The hints in use.
    pub fn hints(&self) -> &Hints {
        &self.setup.hints
    }

    /// The file's endpoint, for collectives between calls on the file.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

/// The seconds of the hint, if there is anybody to wait for.
fn patience_of(endpoint: &Endpoint, hints: &Hints) -> usize {
    if endpoint.ranks() > 1 { hints.patience } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Waiting, shared};

    fn goes_to_another_thread<T: Send>() {}

    /// All parts of a file but its transport: MPI decides which threads may call it.
    #[test]
    fn the_shared_parts_of_a_file_are_send() {
        goes_to_another_thread::<(Setup, Option<WindowQueue>, Plans)>();
        goes_to_another_thread::<(Arc<Arena>, Arc<dyn Storage>, Arc<dyn OpenStorage>)>();
        goes_to_another_thread::<(Waiting, Arc<shared::Shared>, Arc<shared::Group>)>();
    }
}
