//! The bodies of the calls that make no transfer: the opening, sync, the size of the file, agreements for the caller, the
//! close; and the settings in force for an open file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use tributary_base::wire::varint::Varints;
use tributary_base::wire::{Wire, to_bytes};

use crate::access::{AccessStats, Extents};
use crate::collectives::{agree, allreduce, broadcast, gather};
use crate::drivers::{Layout, Mode};
use crate::engine::agree::calls::CallKind;
use crate::engine::agree::with_others;
use crate::engine::file::capturing::CaptureWriter;
use crate::engine::file::opening::FirstAgreement;
use crate::engine::file::setup::Setup;
use crate::engine::file::{File, stall_timeout_of};
use crate::engine::io::OpenStorage;
use crate::engine::trace::capture::target::CaptureTarget;
use crate::engine::trace::report::FanIn;
use crate::engine::trace::watchdog::StallWatchdog;
use crate::error::{About, Error, Result};
use crate::fabric::{Endpoint, pool};
use crate::hints::{DriverName, Hints, OnFailure};
use crate::schedule::ReduceOp;
use crate::topology::{Rank, Topology};

/// The request of a rank to open a file; the same on all ranks.
pub struct Opening {
    pub path: PathBuf,
    pub mode: Mode,
    pub hints: Hints,
    /// Storage that creates and opens the file: the operating system's, or the caller's.
    pub files: Arc<dyn OpenStorage>,
}

impl File {
    /// Opens a file on all ranks. Collective.
    ///
    /// # Errors
    /// The errors of [`File::open`].
    pub(super) async fn opened(endpoint: Endpoint, opening: Opening) -> Result<Self> {
        let opened = Self::opened_after(endpoint, opening, "the opening", &mut FirstAgreement::none()).await?;
        opened.map_err(|endpoint| Error::internal(endpoint.rank(), "no first agreement has stopped"))
    }

    /// Opens a file like [`File::opened`], if the agreement on `first_agreement` allows it; otherwise returns the endpoint.
    /// `name` is the name of the call for the stall watchdog. Collective.
    ///
    /// # Errors
    /// The errors of [`File::open`].
    pub(super) async fn opened_after(
        mut endpoint: Endpoint,
        Opening { path, mode, hints, files }: Opening,
        name: &'static str,
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
        endpoint.count_between(setup.file.topology.clone());
        Ok(Ok(Self::from_setup(endpoint, setup, files, target)))
    }
}

/// The settings in force for an open file: from its hints, and from what was found or chosen when it was opened.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    /// The hints in force.
    pub hints: &'a Hints,
    /// The storage driver.
    pub driver: DriverName,
    /// The layout of the file on its file system: stripes or blocks.
    pub layout: Layout,
    /// Maximum size of a window in bytes: the part of the file that an aggregator holds in one round. A stripe may be
    /// larger.
    pub window: u64,
    /// The ranks that are aggregators, in ascending order.
    pub aggregators: &'a [Rank],
    /// The ranks and their nodes.
    pub topology: &'a Topology,
    /// True if collective calls go through memory that all ranks share, without messages.
    pub shares_memory: bool,
    /// Why the ranks of a host share no memory although the hints allow it, as far as this rank knows. `None` if they
    /// share memory, or the hints do not allow it.
    pub without_shared_memory: Option<&'a str>,
    /// Why collective writes do not buffer bytes although the hint `trib_write_behind` asks for it. `None` if they do,
    /// or if the hint does not ask for it.
    pub without_write_behind: Option<&'static str>,
}

impl<'a> Settings<'a> {
    pub(super) fn of(setup: &'a Setup) -> Self {
        Self {
            hints: &setup.file.hints,
            driver: setup.driver_name,
            layout: setup.file.layout,
            window: setup.windows.memory,
            aggregators: &setup.exchange.roles.aggregators,
            topology: &setup.file.topology,
            shares_memory: setup.shares_memory,
            without_shared_memory: setup.groups.hosts.as_ref().and_then(|hosts| hosts.refusal()),
            without_write_behind: setup.no_write_behind,
        }
    }
}

impl File {
    /// The body of [`File::sync`]. Collective.
    pub(super) async fn synced(&mut self) -> Result<()> {
        let synced = self.handle.sync_written();
        let synced = self.handle.keep_error(synced);
        self.handle.note_others_bytes();
        self.agree_without_data(CallKind::Sync, synced, AccessStats::NONE).await?;
        self.handle.all_have_synced();
        Ok(())
    }

    /// The body of [`File::agree`] on a rank with the outcome `own`. Collective.
    pub(super) async fn agreed(&mut self, own: Result<()>) -> Result<()> {
        self.agree_without_data(CallKind::Agreement, own, AccessStats::NONE).await.map(drop)
    }

    /// The body of [`File::fan_in`]: adds the counts of all ranks. Collective.
    pub(super) async fn added_fan_in(&mut self) -> Result<FanIn> {
        self.agree_without_data(CallKind::FanIn, Ok(()), AccessStats::NONE).await?;
        let counts = self.observers.fan_in.iter();
        let own: Vec<u8> =
            counts.flat_map(|(fan_in, times)| to_bytes(&Varints([u64::from(*fan_in), *times]))).collect();
        let all = gather(&mut self.endpoint, 0, &own).await?.concat();
        let all = broadcast(&mut self.endpoint, 0, &all).await?;
        let mut rest = &all[..];
        let mut counts = BTreeMap::<u32, u64>::new();
        while let Some(Varints([fan_in, times])) = Wire::decode(&mut rest) {
            *counts.entry(fan_in as u32).or_default() += times;
        }
        Ok(FanIn::of(counts))
    }

    /// The body of [`File::set_len`] on a rank that has `checked` the length. Collective.
    pub(super) async fn change_len(&mut self, checked: Result<u64>) -> Result<()> {
        // Checks that the length is not beyond 2^63 - 1.
        let checked = checked.and_then(|len| Extents::contiguous(len, 0).map(|_| len));
        // The agreement merges the lowest and the highest length of all ranks as if they were a range of data.
        let amount = |&len: &u64| AccessStats { start: len, end: len, ..AccessStats::NONE };
        let all = checked.as_ref().map_or(AccessStats::NONE, amount);
        let (len, checked) = (checked.as_ref().copied().unwrap_or_default(), checked.map(drop));
        self.handle.write_left_bytes();
        let AccessStats { start, end, .. } = self.agree_without_data(CallKind::SetLen, checked, all).await?.shape.all;
        if start != end {
            return Err(self.lens_differ(len, [start, end]).await?);
        }
        let set = if self.endpoint.rank() == 0 { self.handle.set_len(len) } else { Ok(()) };
        self.handle.note_others_bytes();
        // The size has changed: forget where earlier writes end.
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

    /// The body of [`File::close`], which also agrees on `own`, the outcome of something that the caller closed. Collective.
    ///
    /// # Errors
    /// The errors of [`File::close`], or the `own` error of the lowest rank, on every rank.
    pub(super) async fn closed(mut self, own: Result<()>) -> Result<Endpoint> {
        let capture = CaptureWriter::from_closing(&mut self.observers, &self.setup);
        self.shut(own).await?;
        match capture {
            Some(capture) => Box::pin(capture.store(self.endpoint)).await,
            None => Ok(self.endpoint),
        }
    }

    /// Closes the handles like [`File::closed`], and keeps the endpoint. Collective.
    pub(super) async fn shut(&mut self, own: Result<()>) -> Result<()> {
        let waiting = self.endpoint.waiting().clone();
        let closed = self.handle.close();
        if let Err(unusable) = self.usable() {
            closed.err().iter().for_each(|error| crate::say(format_args!("{error}; no call has returned this error")));
            return Err(unusable);
        }
        let closed = self.handle.keep_error(closed.and(own));
        let closed = waiting.call(pin!(self.agree_without_data(CallKind::Close, closed, AccessStats::NONE))).await;
        match (closed, &self.handle.write_behind) {
            // All ranks return this error of one rank. No later call returns the errors of other ranks.
            (Err(error @ Error::Io { .. }), Some(write_behind)) => {
                let left = std::iter::from_fn(|| write_behind.take_error());
                Err(waiting.call(pin!(with_others(&mut self.endpoint, error, left.collect()))).await?)
            }
            (closed, _) => closed.map(|_| pool::advise_unused()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::file::binding;
    use crate::fabric::threads;
    use crate::schedule::ReduceOp::{Max, Sum};

    /// Ranks whose first agreement forbids the open make no file, know the agreed values, and get their endpoint back;
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
                    let is_alike = |values: &[u64]| values[0] == 4;
                    // Rounds before and after the hosts are known, and after the file was made.
                    for (round, last) in [(0, 3), (1, 3), (2, 4), (3, 3), (4, 4)] {
                        let mut values = [(endpoint.rank() as u64).min(last), 1];
                        let mut first_agreement =
                            FirstAgreement { ops: &[Max, Sum], values: &mut values, goes_on: is_alike, opens: true };
                        let (of, hints) = ((path.as_path(), "a test"), hints.clone());
                        let opened =
                            binding::open_after(endpoint, of, Mode::Create, hints, &mut first_agreement).await.unwrap();
                        assert_eq!((values, opened.is_ok()), ([last, 5], last == 4), "round {round}");
                        endpoint = match opened {
                            Ok(file) => binding::close_after(file, Ok(())).await.unwrap(),
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
