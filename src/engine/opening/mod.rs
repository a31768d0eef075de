//! The first agreement of a collective call where ranks exchange messages: a sweep over hosts.
//!
//! What ranks bring ([`brought`]) is merged on its way to rank 0: arguments, ranges, what was written already, and the data
//! itself while it is small ([`small`]), which rank 0 then writes. So a call of little data is one sweep, and so is one whose
//! ranks have all written their own large pieces. Any other goes on with what is agreed now.

mod brought;
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
use crate::engine::plan::{Again, Direction, agree_on_ranges};
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Storage, guarded, without_size_signal};
use crate::error::{Error, Result};
use crate::hints::Switch;
use crate::topology::Rank;
use brought::Brought;
use opened::Answer;
pub use opened::OpenedCall;
use small::Blocks;

/// A rank's pieces are looked at, whether all tile the range, where they are so few. What it has written itself always is.
const LOOKED_AT: u64 = 1024;
/// So many pieces of a rank are a few: moving each by itself costs less than messages.
const FEW: u64 = 4;
/// The mean size from which few pieces are written so, and from which many are: what a system call costs.
const NOT_SMALL: u64 = 4 << 10;
const LARGE: u64 = 16 << 10;

/// An access to be written: the file's side, the memory's, the memory.
pub type Access<'a> = (&'a Extents, &'a BufferLayout, Source<'a>);

impl File {
    /// Agrees on a write, of which this rank has written its own `early`, or not. Collective.
    ///
    /// # Errors
    /// The lowest rank's, on every rank.
    pub(in crate::engine) async fn agree_on_write(
        &mut self,
        (file, layout, source): Access<'_>,
        checked: Result<()>,
        early: Option<&Outcome>,
    ) -> Result<OpenedCall> {
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let again = self.cached.as_ref().map_or(Again::No, |cached| cached.again(rest, layout));
        let hints = &self.setup.hints;
        let may_be_small = hints.tiny_call > 0
            && hints.cb_write != Switch::Disable
            && self.setup.roles.aggregators.first() == Some(&0);
        let looks = early.is_some() || file.count() <= LOOKED_AT;
        let mut brought = Brought::new(file, again, looks.then_some(self.setup.tiling));
        match early {
            Some(outcome) => brought.served(outcome.bytes, outcome.busy.as_micros() as u64),
            None if may_be_small && checked.is_ok() => {
                brought.data = Blocks::of(self.endpoint.rank(), file, layout, source);
            }
            None => {}
        }
        let small = (may_be_small && self.endpoint.rank() == 0).then(|| self.storage());
        self.open_call(brought, file, again, checked.map(|()| u64::MAX), small).await
    }

    /// Agrees on a read, of which this rank has read its own `early`, or not; `checked` is the end of the file where this rank
    /// has looked, or else `u64::MAX`. Collective.
    ///
    /// # Errors
    /// The lowest rank's, on every rank.
    pub(in crate::engine) async fn agree_on_read(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        checked: Result<u64>,
        early: Option<&Outcome>,
    ) -> Result<OpenedCall> {
        let rest = if early.is_some() { &Extents::empty() } else { file };
        let again = self.cached.as_ref().map_or(Again::No, |cached| cached.again(rest, layout));
        let tiling = (file.count() <= LOOKED_AT).then_some(self.setup.tiling);
        let mut brought = Brought::new(file, again, tiling);
        brought.limit = checked.as_ref().map_or(u64::MAX, |limit| *limit);
        if let Some(outcome) = early {
            brought.served(outcome.bytes, outcome.busy.as_micros() as u64);
        }
        self.open_call(brought, file, again, checked, None).await
    }

    async fn open_call(
        &mut self,
        mut brought: Brought,
        file: &Extents,
        again: Again,
        checked: Result<u64>,
        small: Option<Result<Arc<dyn Storage>>>,
    ) -> Result<OpenedCall> {
        let Some(hosts) = self.setup.hosts.clone() else {
            let agreed = agree_on_ranges(&mut self.endpoint, self.setup.io.as_ref(), file, checked, again).await?;
            return Ok(OpenedCall::plain(agreed));
        };
        if checked.is_err() {
            brought.fail(self.endpoint.rank());
        }
        let mut opening =
            Opening { setup: &self.setup, rank: self.endpoint.rank(), brought, small, error: checked.err() };
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

/// A rank's part in the sweep.
struct Opening<'a> {
    setup: &'a Setup,
    rank: Rank,
    brought: Brought,
    /// On rank 0, the file, if small data may be written to it.
    small: Option<Result<Arc<dyn Storage>>>,
    error: Option<Error>,
}

impl Opening<'_> {
    /// Writes the data of all ranks, if all of it came and it is little: bytes, and microseconds. Not over bytes that ranks may
    /// have written by themselves: these are then exchanged with it, in the order that is asked for.
    fn write_small(&mut self) -> Result<Option<(u64, u64)>> {
        let Brought { left, data, moved, .. } = &self.brought;
        let Some(storage) = self.small.take() else { return Ok(None) };
        let is_over_others = *moved > 0 && self.brought.are_disjoint(self.setup.tiling) != Some(true);
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

impl Sweep for Opening<'_> {
    fn body(&self) -> Vec<u8> {
        self.brought.body()
    }

    fn merge(&mut self, body: &[u8]) {
        self.brought.merge(Brought::from(body));
    }

    fn decide(&mut self) -> Vec<u8> {
        let mut written = None;
        if self.brought.failed().is_none() {
            match self.write_small() {
                Ok(outcome) => written = outcome,
                Err(error) => {
                    self.brought.fail(self.rank);
                    self.error = Some(error);
                }
            }
        }
        Answer::of(&self.brought, self.setup.tiling, written).put()
    }
}

/// The mean size from which pieces are written, and read, by their owners: where the file system locks no larger units, what a
/// system call costs; elsewhere the hint.
pub fn large(setup: &Setup) -> u64 {
    match setup.window_terms().1 {
        1 => setup.hints.direct_min.min(LARGE),
        _ => setup.hints.direct_min,
    }
}

/// Whether a rank moves such pieces by itself: they are large, or few and not small, where the file system locks no larger
/// units.
pub fn is_own(file: &Extents, setup: &Setup, direction: Direction) -> bool {
    if file.count() == 0 {
        return false;
    }
    let is_few = file.count() <= FEW && setup.window_terms().1 == 1;
    let least = match direction {
        Direction::Write if is_few => setup.hints.direct_min.min(NOT_SMALL),
        Direction::Read if is_few => 0,
        _ => large(setup),
    };
    file.bytes() / file.count() >= least
}
