//! The first agreement of a collective call of ranks that exchange messages: a sweep over hosts.
//!
//! The contributions of ranks ([`contribution`]) are merged on their way to rank 0: ranges, errors, bytes written already, and small
//! data ([`small`]), which rank 0 then writes. So a call with little data takes one sweep, and so does a call whose ranks have
//! all written their own large pieces. Any other call continues with the agreed ranges.

mod contribution;
pub(in crate::engine) mod cover;
#[cfg(feature = "internals")]
pub mod internals;
mod opened;
mod ranges;
mod small;

use std::sync::Arc;
use std::time::Instant;

use crate::access::{BufferLayout, Extents, Source};
use crate::collectives::broadcast_error;
use crate::collectives::sweep::{Sweep, sweep};
use crate::engine::api::file::File;
use crate::engine::api::setup::Setup;
use crate::engine::plan::Direction;
use crate::engine::plan::cached::Again;
use crate::engine::policy::MAX_CHECKED_PIECES;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Storage, guarded, without_size_signal};
use crate::error::{Error, Result};
use crate::hints::Switch;
use crate::topology::Rank;
use contribution::Contribution;
use cover::Cover;
use opened::Answer;
pub use opened::OpenedCall;
use small::SmallData;

/// An access to write: extents of the file, layout of the memory, the memory.
pub type Access<'a> = (&'a Extents, &'a BufferLayout, Source<'a>);

impl File {
    /// The first agreement of a write. `early` is the outcome if this rank has written its bytes already. Collective.
    ///
    /// # Errors
    /// The error of the lowest rank, on every rank.
    pub(in crate::engine) async fn agree_on_write(
        &mut self,
        (file, layout, source): Access<'_>,
        checked: Result<()>,
        early: Option<&Outcome>,
    ) -> Result<OpenedCall> {
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let again = self.again(rest, layout);
        let hints = &self.setup.hints;
        let may_be_small = hints.tiny_call > 0
            && hints.cb_write != Switch::Disable
            && self.setup.roles.aggregators.first() == Some(&0);
        let looks = early.is_some() || file.count() <= MAX_CHECKED_PIECES;
        let mut contribution =
            Contribution::new(file, again, looks.then_some(self.setup.tiling), self.cover(file, Direction::Write));
        match early {
            Some(outcome) => contribution.served(outcome.bytes, outcome.busy.as_micros() as u64),
            None if may_be_small && checked.is_ok() => {
                contribution.data = SmallData::of(self.endpoint.rank(), file, layout, source);
            }
            None => {}
        }
        let small = (may_be_small && self.endpoint.rank() == 0).then(|| self.storage());
        self.open_call(contribution, checked, small).await
    }

    /// The first agreement of a read. `early` is the outcome if this rank has read its bytes already; `checked` is the end of
    /// the file, or `u64::MAX` if this rank has not checked it. Collective.
    ///
    /// # Errors
    /// The error of the lowest rank, on every rank.
    pub(in crate::engine) async fn agree_on_read(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        checked: Result<u64>,
        early: Option<&Outcome>,
    ) -> Result<OpenedCall> {
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let again = self.again(rest, layout);
        let tiling = (file.count() <= MAX_CHECKED_PIECES).then_some(self.setup.tiling);
        let mut contribution = Contribution::new(file, again, tiling, self.cover(file, Direction::Read));
        contribution.limit = checked.as_ref().map_or(u64::MAX, |limit| *limit);
        if let Some(outcome) = early {
            contribution.served(outcome.bytes, outcome.busy.as_micros() as u64);
        }
        self.open_call(contribution, checked.map(drop), None).await
    }

    /// What this rank holds, if its host may write or read that by itself. A rank that is alone on its host has nobody to share
    /// windows with: it does so only with pieces that it writes or reads directly.
    fn cover(&self, file: &Extents, direction: Direction) -> Cover {
        let Some(hosts) = &self.setup.hosts else { return Cover::unknown(0) };
        let is_alone = hosts.here().is_none() && file.count() > 0 && !self.setup.rules(direction).is_direct(file);
        if !self.setup.by_host || is_alone {
            return Cover::unknown(hosts.host());
        }
        // Where the user has to ask for it, hosts share no block of the file system.
        let unit = match self.setup.hints.host_domains {
            Switch::Enable => self.setup.layout.unit.max(self.setup.window_terms().1),
            Switch::Automatic | Switch::Disable => 1,
        };
        Cover::of(hosts.host(), file, unit)
    }

    /// How an access relates to that of the cached plan, and about how many windows of the file it touches: the plan may not fit
    /// on another rank.
    fn again(&self, file: &Extents, layout: &BufferLayout) -> (Again, u64) {
        let touched = || self.setup.roles.touched(file);
        let Some(cached) = &self.cached else { return (Again::No, touched()) };
        match cached.again(file, layout) {
            Again::No => (Again::No, touched()),
            again => (again, cached.touched(touched)),
        }
    }

    async fn open_call(
        &mut self,
        mut contribution: Contribution,
        checked: Result<()>,
        small: Option<Result<Arc<dyn Storage>>>,
    ) -> Result<OpenedCall> {
        let rank = self.endpoint.rank();
        let Some(hosts) = self.setup.hosts.clone() else {
            return Err(Error::Internal { rank, what: "no hosts to agree over".to_string() });
        };
        if checked.is_err() {
            contribution.fail(rank);
        }
        let mut opening = OpeningSweep { setup: &self.setup, rank, contribution, small, error: checked.err() };
        let answer = sweep(&mut self.endpoint, &hosts, &mut opening).await?;
        let error = opening.error;
        match Answer::get(&answer) {
            Answer { failed: Some(failed), .. } => {
                Err(broadcast_error(&mut self.endpoint, failed, error.as_ref()).await?)
            }
            Answer { opened, .. } => Ok(opened),
        }
    }
}

/// A rank's contribution to the sweep.
struct OpeningSweep<'a> {
    setup: &'a Setup,
    rank: Rank,
    contribution: Contribution,
    /// On rank 0: the file, if small data may be written to it.
    small: Option<Result<Arc<dyn Storage>>>,
    error: Option<Error>,
}

impl OpeningSweep<'_> {
    /// Writes the data of all ranks, if all of it is small; returns bytes and microseconds. Does not write over bytes that ranks
    /// may have written directly: these are then exchanged together, in the requested order.
    fn write_small(&mut self) -> Result<Option<(u64, u64)>> {
        let Contribution { left, data, transferred, .. } = &self.contribution;
        let Some(storage) = self.small.take() else { return Ok(None) };
        let is_over_others = *transferred > 0 && self.contribution.are_disjoint(self.setup.tiling) != Some(true);
        if !data.are_all() || left.bytes == 0 || left.bytes > self.setup.hints.tiny_call || is_over_others {
            return Ok(None);
        }
        let (begin, mut written) = (Instant::now(), 0);
        let storage = storage?;
        let _quiet = without_size_signal();
        guarded("write", left.start, || data.write(&*storage, &mut written))
            .map_err(|failure| failure.of(self.rank, &self.setup.path))?;
        Ok(Some((written, begin.elapsed().as_micros() as u64)))
    }
}

impl Sweep for OpeningSweep<'_> {
    fn body(&self) -> Vec<u8> {
        self.contribution.body()
    }

    fn merge(&mut self, body: &[u8]) {
        self.contribution.merge(Contribution::from(body));
    }

    fn decide(&mut self) -> Vec<u8> {
        let mut written = None;
        if self.contribution.failed().is_none() {
            match self.write_small() {
                Ok(outcome) => written = outcome,
                Err(error) => {
                    self.contribution.fail(self.rank);
                    self.error = Some(error);
                }
            }
        }
        Answer::of(&self.contribution, self.setup.tiling, written).put()
    }
}
