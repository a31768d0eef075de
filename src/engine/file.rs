//! A shared file that all ranks write together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use super::conclude::{Done, conclude};
use super::direct;
use super::operation::Operation;
use super::plan::{self, Agreed, Cached, Plan};
use super::report::{CallReport, Clock, FanIn, Path};
use super::rounds::Rounds;
use super::setup::{Mode, Setup};
use super::sink::{Outcome, Sink};
use super::storage::{OpenStorage, Storage, SystemFiles};
use super::writer::Writer;
use crate::access::{BufferLayout, Extents, varint};
use crate::collectives::{agree, broadcast, gather};
use crate::drivers::Layout;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::hints::{DriverName, Hints};
use crate::topology::{Rank, Topology};

/// An open file. Every method that says so is collective: all ranks call it, in the same order on each, and all get the
/// same error or none.
pub struct File {
    endpoint: Endpoint,
    setup: Setup,
    files: Arc<dyn OpenStorage>,
    /// This rank's own handle, opened when it first writes.
    storage: Option<Arc<dyn Storage>>,
    sink: Option<Sink>,
    cached: Option<Cached>,
    fan_in: BTreeMap<u32, u64>,
    /// Set while an operation runs; still set if one was dropped in the middle.
    busy: bool,
}

impl File {
    /// Opens `path` on all ranks of `endpoint`, which is the file's alone from here on. Collective.
    ///
    /// # Errors
    /// Bad hints, or the file cannot be made or opened: the same on all ranks.
    pub fn open(endpoint: Endpoint, path: impl Into<PathBuf>, mode: Mode, hints: Hints) -> Result<Self> {
        Self::open_on(endpoint, path, mode, hints, Arc::new(SystemFiles))
    }

    /// As [`File::open`], with the file's I/O behind `files`. Collective.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_on(
        mut endpoint: Endpoint,
        path: impl Into<PathBuf>,
        mode: Mode,
        hints: Hints,
        files: Arc<dyn OpenStorage>,
    ) -> Result<Self> {
        let waiting = endpoint.waiting().clone();
        let setup = waiting.wait(pin!(Setup::open(&mut endpoint, path.into(), mode, hints)))?;
        let (storage, sink, cached) = (None, None, None);
        Ok(Self { endpoint, setup, files, storage, sink, cached, fan_in: BTreeMap::new(), busy: false })
    }

    /// Writes `buffer` (laid out as `layout`) to the extents `file`, together with all ranks. Collective; a rank without
    /// data calls it with no extents.
    ///
    /// # Errors
    /// The first rank's argument or I/O error, on every rank. Bytes of other ranks and windows are in the file then.
    pub fn write_all(&mut self, file: &Extents, layout: &BufferLayout, buffer: &[u8]) -> Result<CallReport> {
        self.start_write_all(file, layout, buffer).wait()
    }

    /// Starts a collective write, which goes on whenever the operation is tested or waited for. Collective.
    pub fn start_write_all<'a>(
        &'a mut self,
        file: &'a Extents,
        layout: &'a BufferLayout,
        buffer: &'a [u8],
    ) -> Operation<'a, CallReport> {
        let waiting = self.endpoint.waiting().clone();
        let usable = self.usable();
        // From the start on, so that an operation dropped before its first test counts as dropped on every rank.
        self.busy = true;
        let future = Box::pin(async move {
            usable?;
            let outcome = self.write(file, layout, buffer).await;
            // What is not agreed may have left messages on their way.
            self.busy = matches!(&outcome, Err(Error::Fabric(_)));
            outcome
        });
        Operation::new(future, waiting)
    }

    /// An operation that was dropped has messages on their way that nobody expects any more.
    fn usable(&self) -> Result<()> {
        if self.busy {
            let allowed = "only to close it, which gives no endpoint back";
            return Err(Error::argument("file", "an operation on it was dropped in the middle", allowed));
        }
        Ok(())
    }

    async fn write(&mut self, file: &Extents, layout: &BufferLayout, buffer: &[u8]) -> Result<CallReport> {
        let mut clock = Clock::start();
        let checked = plan::check_access(file, layout, buffer.len());
        let same = self.cached.as_ref().is_some_and(|cached| cached.is_of(file, layout));
        clock.flatten.lap();
        let agreed = plan::agree_on_ranges(&mut self.endpoint, file, checked, same).await?;
        clock.agreement.lap();
        let (path, why) = plan::choose_path(&agreed, &self.setup);
        let mut done = Done { path, why, reused: agreed.unchanged && path == Path::Exchange, ..Done::default() };
        match path {
            Path::Nothing => {}
            Path::Direct => {
                done.outcome = self.write_directly(file, layout, buffer);
                clock.elsewhere.lap();
            }
            Path::Exchange => self.exchange(file, layout, buffer, &agreed, &mut clock, &mut done).await?,
        }
        conclude(&mut self.endpoint, agreed, done, clock).await
    }

    async fn exchange(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        buffer: &[u8],
        agreed: &Agreed,
        clock: &mut Clock,
        done: &mut Done,
    ) -> Result<()> {
        let plan = match &self.cached {
            Some(cached) if agreed.unchanged => cached.plan(),
            _ => {
                let plan = Plan::make(&mut self.endpoint, &self.setup, agreed, file, layout, clock).await?;
                done.metadata = plan.announced.traffic;
                let plan = Rc::new(plan);
                let keep = self.setup.hints.plan_cache;
                self.cached = keep.then(|| Cached::new(file, layout, plan.clone()));
                plan
            }
        };
        if !plan.announced.incoming.is_empty() && self.sink.is_none() {
            self.sink = Some(self.open_sink());
        }
        let roles = self.setup.roles(agreed.bytes);
        done.aggregators = roles.aggregators.len();
        let rounds = Rounds::new(&plan, &roles.data, buffer);
        done.tally = rounds.run(&mut self.endpoint, &mut self.sink).await?;
        if let Some(sink) = &mut self.sink {
            done.outcome = sink.finish().await;
        }
        clock.elsewhere.lap();
        if done.outcome.error.is_some() {
            // A file that could not be opened may be there the next time.
            self.sink = None;
        }
        for (fan_in, times) in std::mem::take(&mut done.tally.fan_in) {
            *self.fan_in.entry(fan_in).or_default() += times;
        }
        Ok(())
    }

    fn write_directly(&mut self, file: &Extents, layout: &BufferLayout, buffer: &[u8]) -> Outcome {
        if file.count() == 0 {
            return Outcome::default();
        }
        let (rank, path) = (self.endpoint.rank(), self.setup.path.clone());
        match self.storage() {
            Ok(storage) => direct::write(&*storage, file, layout, buffer, rank, &path),
            Err(error) => Outcome { error: Some(error), ..Outcome::default() },
        }
    }

    fn storage(&mut self) -> Result<Arc<dyn Storage>> {
        if let Some(storage) = &self.storage {
            return Ok(storage.clone());
        }
        let opened = self.files.open(&self.setup.path);
        let fail = |cause| Error::io(self.endpoint.rank(), "open", &self.setup.path, 0, &cause);
        let storage: Arc<dyn Storage> = opened.map_err(fail)?.into();
        self.storage = Some(storage.clone());
        Ok(storage)
    }

    fn open_sink(&mut self) -> Sink {
        let (rank, path) = (self.endpoint.rank(), self.setup.path.clone());
        let waker = self.endpoint.waiting().waker();
        let start = |storage| Writer::start(storage, waker).map_err(|cause| Error::io(rank, "open", &path, 0, &cause));
        let writer = self.storage().and_then(start);
        Sink::new(writer, self.setup.hints.write_buffers, self.setup.hints.ds_write, rank, path)
    }

    /// How many ranks the aggregators received from in each round of all writes so far. Collective; the same on all ranks.
    ///
    /// # Errors
    /// The fabric's; or an operation was dropped in the middle.
    pub fn fan_in(&mut self) -> Result<FanIn> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(async {
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

    /// Waits until everything written so far is stored. Collective.
    ///
    /// # Errors
    /// The first rank's, on every rank; or an operation was dropped in the middle.
    pub fn sync(&mut self) -> Result<()> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        let (rank, path) = (self.endpoint.rank(), &self.setup.path);
        let synced = self.storage.as_ref().map_or(Ok(()), |storage| storage.sync());
        let synced = synced.map_err(|cause| Error::io(rank, "sync", path, 0, &cause));
        waiting.wait(pin!(agree(&mut self.endpoint, synced)))
    }

    /// Closes the file and gives the endpoint back. Collective: no rank returns before all have written, and closed their
    /// handles, so that the file may be removed or its file system unmounted at once.
    ///
    /// # Errors
    /// What the file system reports on closing on any rank, on every rank; or the fabric's. Where an operation was dropped, the file is closed at once, without the other ranks, and
    /// the endpoint goes with it.
    pub fn close(mut self) -> Result<Endpoint> {
        self.sink = None;
        let (rank, path) = (self.endpoint.rank(), &self.setup.path);
        let settled = self.storage.take().map_or(Ok(()), |storage| storage.settle());
        let settled = settled.map_err(|cause| Error::io(rank, "close", path, 0, &cause));
        self.usable()?;
        self.agree(settled)?;
        Ok(self.endpoint)
    }

    /// Makes an outcome of each rank the same on all: if any has an error, all get that of the lowest such rank. Collective.
    ///
    /// # Errors
    /// The agreed error.
    pub fn agree<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(agree(&mut self.endpoint, outcome)))
    }

    /// The driver in use.
    pub fn driver(&self) -> DriverName {
        self.setup.driver.name()
    }

    /// The layout in use.
    pub fn layout(&self) -> Layout {
        self.setup.layout
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

    /// This file's end of the fabric, for collectives between writes.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}
