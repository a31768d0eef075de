//! Opens, synchronises and closes a file; its size; agreements for the caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use crate::access::{Extents, varint};
use crate::collectives::{agree, allreduce, broadcast, gather};
use crate::drivers::Mode;
use crate::engine::agreement::fault::with_others;
use crate::engine::api::capturing::CaptureWriter;
use crate::engine::capture::target::CaptureTarget;
use crate::engine::facts::Amount;
use crate::engine::facts::calls::CallKind;
use crate::engine::file::{File, stall_timeout_of};
use crate::engine::record::report::FanIn;
use crate::engine::setup::Setup;
use crate::engine::setup::terms::FirstAgreement;
use crate::engine::storage::{OpenStorage, SystemFiles};
use crate::engine::watchdog::StallWatchdog;
use crate::error::{About, Error, Result};
use crate::fabric::{Endpoint, pool};
use crate::hints::{FileHints, Hints, OnFailure, Unused};
use crate::schedule::ReduceOp;

impl File {
    /// Opens `path` on all ranks of `endpoint`, which the file owns until [`File::close`]. Collective, with the same
    /// path, mode and hints.
    ///
    /// # Errors
    /// Bad or different arguments, or the file cannot be created or opened: the same on all ranks.
    pub fn open(endpoint: Endpoint, path: impl Into<PathBuf>, mode: Mode, hints: Hints) -> Result<Self> {
        Self::open_on(endpoint, path, mode, hints, Arc::new(SystemFiles))
    }

    /// Opens like [`File::open`], with another storage instead of the operating system's files. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::open`].
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

    /// Opens like [`File::open`], as a future that the caller polls. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::open`].
    pub async fn open_async(endpoint: Endpoint, path: impl Into<PathBuf>, mode: Mode, hints: Hints) -> Result<Self> {
        Self::opened(endpoint, path.into(), mode, hints, Arc::new(SystemFiles)).await
    }

    /// Opens like [`File::open_async`], if the agreement on `first_agreement` allows it; otherwise returns the
    /// endpoint. `name` is the name of the call for the stall watchdog. Collective, with the same operations and the
    /// same condition on all ranks.
    ///
    /// # Errors
    /// The same errors as [`File::open`].
    pub async fn open_after(
        endpoint: Endpoint,
        (path, name): (&Path, &'static str),
        mode: Mode,
        hints: Hints,
        first_agreement: &mut FirstAgreement<'_>,
    ) -> Result<std::result::Result<Self, Endpoint>> {
        Self::opened_after(endpoint, (path.into(), name), mode, hints, Arc::new(SystemFiles), first_agreement).await
    }

    async fn opened(
        endpoint: Endpoint,
        path: PathBuf,
        mode: Mode,
        hints: Hints,
        files: Arc<dyn OpenStorage>,
    ) -> Result<Self> {
        let (named, mut first_agreement) = ((path, "the opening"), FirstAgreement::none());
        let opened = Self::opened_after(endpoint, named, mode, hints, files, &mut first_agreement).await?;
        opened.map_err(|endpoint| Error::internal(endpoint.rank(), "no first agreement has stopped"))
    }

    async fn opened_after(
        mut endpoint: Endpoint,
        (path, name): (PathBuf, &'static str),
        mode: Mode,
        hints: Hints,
        files: Arc<dyn OpenStorage>,
        first_agreement: &mut FirstAgreement<'_>,
    ) -> Result<std::result::Result<Self, Endpoint>> {
        let waiting = endpoint.waiting().clone();
        waiting.failure().set_returning(hints.on_failure == OnFailure::Return);
        let target = CaptureTarget::of_process();
        let known = endpoint.hosts().and_then(|hosts| hosts.here()).cloned();
        let watchdog = StallWatchdog::new(&path, endpoint.rank(), stall_timeout_of(&endpoint, &hints), (known, None));
        watchdog.begin_in(&waiting, name);
        let setup =
            waiting.call(pin!(Setup::open(&mut endpoint, &*files, path, mode, hints, target, first_agreement))).await;
        watchdog.end();
        watchdog.leave(setup.is_err());
        let Some(setup) = setup? else { return Ok(Err(endpoint)) };
        let target = target.filter(|_| setup.is_captured);
        endpoint.count_between(setup.topology.clone());
        Ok(Ok(Self::from_setup(endpoint, setup, files, target)))
    }

    /// Returns the fan-in of the aggregators over all rounds of all calls so far, the same on all ranks. Collective.
    ///
    /// # Errors
    /// Errors of the message transport; an operation was dropped before its end.
    pub fn fan_in(&mut self) -> Result<FanIn> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(async {
            self.agree_without_data(CallKind::FanIn, Ok(()), Amount::NONE).await?;
            let mut own = Vec::new();
            for (fan_in, times) in &self.observers.fan_in {
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

    /// Writes all bytes written so far to stable storage (fsync), and returns when this is done. Collective. Costs one
    /// agreement.
    ///
    /// # Errors
    /// The error of the lowest rank, on every rank; an operation was dropped before its end.
    pub fn sync(&mut self) -> Result<()> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        let synced = self.handle.sync(&self.setup);
        let synced = self.handle.keep_error(synced);
        self.handle.note_others_bytes();
        let agreed = waiting.complete(pin!(self.agree_without_data(CallKind::Sync, synced, Amount::NONE))).map(drop);
        if agreed.is_ok() {
            self.handle.all_have_synced();
        }
        agreed
    }

    /// Waits until the bytes that collective writes have left behind on this rank are in the file. Local; [`File::sync`]
    /// does so on all ranks.
    ///
    /// # Errors
    /// The error of such a write, which no other call returns then.
    pub fn write_left_bytes(&mut self) -> Result<()> {
        let Some(behind) = &self.handle.behind else { return Ok(()) };
        behind.write();
        behind.take_error().map_or(Ok(()), Err)
    }

    /// Stores the hints of the file for its capture: the sources of the hints in force, and the `unused` hints with the
    /// reasons. The values of rank 0 count. Does nothing if calls are not captured. Local.
    pub fn describe_hints(&mut self, asked: &FileHints, unused: Vec<Unused>) {
        self.observers.describe_hints(asked, unused);
    }

    /// Closes the file and returns the endpoint. Collective: no rank returns before all have written and closed their
    /// handles, so the file may be removed or its file system unmounted at once.
    ///
    /// # Errors
    /// An error of the close on any rank, returned on every rank; errors of the message transport. If an operation was
    /// dropped before its end, this rank closes the file at once, without the other ranks, and the endpoint is lost.
    pub fn close(self) -> Result<Endpoint> {
        let waiting = self.endpoint.waiting().clone();
        waiting.wait(pin!(self.close_async()))
    }

    /// Closes like [`File::close`], as a future that the caller polls. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::close`].
    pub async fn close_async(self) -> Result<Endpoint> {
        self.close_after(Ok(())).await
    }

    /// Closes like [`File::close_async`], and also agrees on `own`, the outcome of something that the caller closed.
    /// Collective.
    ///
    /// # Errors
    /// The same errors as [`File::close`], or the `own` error of the lowest rank, on every rank.
    pub async fn close_after(mut self, own: Result<()>) -> Result<Endpoint> {
        let capture = CaptureWriter::from_closing(&mut self.observers, &self.setup);
        self.shut_after(own).await?;
        match capture {
            Some(capture) => Box::pin(capture.store(self.endpoint)).await,
            None => Ok(self.endpoint),
        }
    }

    /// Closes the handles like [`File::close_async`], and keeps the endpoint. Collective.
    pub(in crate::engine) async fn shut(&mut self) -> Result<()> {
        self.shut_after(Ok(())).await
    }

    async fn shut_after(&mut self, own: Result<()>) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        let closed = self.handle.close(&self.setup);
        if let Err(unusable) = self.usable() {
            closed.err().iter().for_each(|error| crate::say(format_args!("{error}; no call has returned this error")));
            return Err(unusable);
        }
        let closed = self.handle.keep_error(closed.and(own));
        let closed = waiting.call(pin!(self.agree_without_data(CallKind::Close, closed, Amount::NONE))).await;
        match (closed, &self.handle.behind) {
            // All ranks have this error of one rank. No later call returns the others.
            (Err(error @ Error::Io { .. }), Some(behind)) => {
                let left = std::iter::from_fn(|| behind.take_error());
                Err(waiting.call(pin!(with_others(&mut self.endpoint, error, left.collect()))).await?)
            }
            (closed, _) => closed.map(|_| pool::advise_unused()),
        }
    }

    /// Agrees on an outcome: if a rank has an error, all ranks return the error of the lowest such rank. Collective.
    ///
    /// # Errors
    /// The agreed error.
    pub fn agree<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        let (value, own) = outcome.map_or_else(|error| (None, Err(error)), |value| (Some(value), Ok(())));
        waiting.complete(pin!(self.agree_without_data(CallKind::Agreement, own, Amount::NONE)))?;
        let rank = self.endpoint.rank();
        value.ok_or_else(|| Error::internal(rank, "an error was not agreed on"))
    }

    /// Returns the size of the file in bytes, as the system reports it to this rank now. Local.
    ///
    /// # Errors
    /// A device or a pipe, which has no size; an error of the system; an operation was dropped before its end.
    pub fn size(&mut self) -> Result<u64> {
        self.usable()?;
        match self.handle.size(&self.setup)? {
            u64::MAX => Err(Error::state("the file is a device or a pipe, which has no size; use a regular file")),
            size => Ok(size),
        }
    }

    /// Sets the size of the file to `len` bytes: truncates a longer file, extends a shorter file with zeros.
    /// Collective, with the same length on all ranks: rank 0 sets it when all ranks have called, and all ranks return
    /// after that. Costs two agreements.
    ///
    /// # Errors
    /// The same on every rank: different lengths, a length beyond 2^63 - 1, a file opened for reading, an error of the
    /// system on rank 0; an operation was dropped before its end.
    pub fn set_len(&mut self, len: u64) -> Result<()> {
        self.set_len_after(Ok(len))
    }

    /// Sets the size like [`File::set_len`], for a caller that has already checked the length. Collective.
    ///
    /// # Errors
    /// The same errors as [`File::set_len`], or the `checked` error of the lowest rank, on every rank.
    pub fn set_len_after(&mut self, checked: Result<u64>) -> Result<()> {
        self.usable()?;
        let waiting = self.endpoint.waiting().clone();
        waiting.complete(pin!(self.change_len(checked)))
    }

    async fn change_len(&mut self, checked: Result<u64>) -> Result<()> {
        // Checks that the length is not beyond 2^63 - 1.
        let checked = checked.and_then(|len| Extents::contiguous(len, 0).map(|_| len));
        // The agreement merges the lowest and the highest length of all ranks as if they were a range of data.
        let amount = |&len: &u64| Amount { start: len, end: len, ..Amount::NONE };
        let all = checked.as_ref().map_or(Amount::NONE, amount);
        let (len, checked) = (checked.as_ref().copied().unwrap_or_default(), checked.map(drop));
        self.handle.write_left_bytes();
        let Amount { start, end, .. } = self.agree_without_data(CallKind::SetLen, checked, all).await?.all;
        if start != end {
            return Err(self.lens_differ(len, [start, end]).await?);
        }
        let set = if self.endpoint.rank() == 0 { self.handle.set_len(&self.setup, len) } else { Ok(()) };
        self.handle.note_others_bytes();
        // The end of earlier writes means nothing any more.
        self.handle.all_have_synced();
        agree(&mut self.endpoint, set).await
    }

    /// Returns the error of ranks with different lengths; `lens` are the lowest and the highest. Collective: an
    /// allreduce.
    async fn lens_differ(&mut self, own: u64, lens: [u64; 2]) -> Result<Error> {
        let rank = self.endpoint.rank() as u64;
        let mut ranks = lens.map(|len| if len == own { rank } else { u64::MAX });
        allreduce(&mut self.endpoint, &[ReduceOp::Min; 2], &mut ranks).await?;
        let mut given = [(ranks[0], lens[0]), (ranks[1], lens[1])];
        given.sort_unstable();
        let [(lower, its), (higher, other)] = given;
        let given = format!("{other} on rank {higher}, {its} on rank {lower}");
        let differ = Error::argument("length of the file", given, "the same on all ranks");
        Ok(differ.about(About::FileSize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::threads;
    use crate::schedule::ReduceOp::{Max, Sum};

    /// Ranks whose first agreement forbids the open make no file, know the agreed words, and get their endpoint back;
    /// ranks that open the file after that work too. On one host, on several pretended hosts, and without shared
    /// memory.
    #[test]
    fn a_first_agreement_opens_the_file_or_gives_the_endpoint_back() {
        let directory = tempfile::tempdir().unwrap();
        for (number, hints) in ["", "trib_ranks_per_node=2", "trib_shared_memory=disable"].into_iter().enumerate() {
            let memory = if number < 2 { "trib_shared_memory=enable" } else { "" };
            let hints = Hints::parse(&format!("{memory};{hints}")).unwrap();
            let path = directory.path().join(format!("{number}"));
            threads::run(5, |transport| {
                let mut endpoint = Endpoint::new(transport);
                let waiting = endpoint.waiting().clone();
                waiting.wait(pin!(async {
                    let is_alike = |words: &[u64]| words[0] == 4;
                    // Rounds before and after the hosts are known, and after the file was made.
                    for (round, last) in [(0, 3), (1, 3), (2, 4), (3, 3), (4, 4)] {
                        let mut words = [(endpoint.rank() as u64).min(last), 1];
                        let mut first_agreement =
                            FirstAgreement { ops: &[Max, Sum], words: &mut words, goes_on: is_alike, opens: true };
                        let (of, hints) = ((path.as_path(), "a test"), hints.clone());
                        let opened =
                            File::open_after(endpoint, of, Mode::Create, hints, &mut first_agreement).await.unwrap();
                        assert_eq!((words, opened.is_ok()), ([last, 5], last == 4), "round {round}");
                        endpoint = match opened {
                            Ok(file) => file.close_async().await.unwrap(),
                            Err(endpoint) => endpoint,
                        };
                        assert_eq!(path.exists(), round >= 2);
                    }
                }));
            })
            .unwrap();
        }
    }
}
