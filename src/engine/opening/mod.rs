//! The first agreement of a collective call where ranks exchange messages: a sweep over hosts.
//!
//! What ranks bring ([`brought`]) is merged on its way to rank 0: arguments, ranges, what was written already, and the data
//! itself while it is small ([`small`]), which rank 0 then writes. So a call of little data is one sweep, and so is one whose
//! ranks have all written their own large pieces. Any other goes on with what is agreed now.

mod brought;
mod ranges;
mod small;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::file::File;
use super::plan::{Again, Agreed, Direction, agree_on_ranges};
use super::report::{CallReport, Path, Seconds};
use super::setup::Setup;
use super::shared::Tiling;
use super::storage::{Storage, guarded, without_size_signal};
use super::window_queue::Outcome;
use crate::access::{BufferLayout, Extents, Source};
use crate::collectives::broadcast_error;
use crate::collectives::sweep::{Sweep, sweep, words};
use crate::error::{Error, Result};
use crate::hints::Switch;
use crate::topology::Rank;
use brought::{Amount, Brought};
use small::Blocks;

/// A rank's pieces are looked at, whether all tile the range, where they are so few. What it has written itself always is.
const LOOKED_AT: u64 = 1024;
/// So many pieces of a rank are a few: moving each by itself costs less than messages.
const FEW: u64 = 4;
/// The mean size from which few pieces are written so, and from which many are: what a system call costs.
const NOT_SMALL: u64 = 4 << 10;
const LARGE: u64 = 16 << 10;

/// What all ranks know after the opening of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// What the call is about.
    pub all: Agreed,
    /// What is left of it, if no byte is given twice.
    pub left: Agreed,
    /// Whether no byte is given twice, if anybody knows.
    pub disjoint: Option<bool>,
    /// Whether no rank has more than a few pieces.
    pub few: bool,
    /// Bytes that ranks have written, or read, by themselves, and the most microseconds that took any.
    pub moved: u64,
    micros: u64,
    /// Rank 0 has written all, so many bytes.
    pub written: Option<u64>,
}

impl Opened {
    /// From an agreement on ranges alone.
    fn plain(agreed: Agreed) -> Self {
        Self { all: agreed, left: agreed, disjoint: None, few: false, moved: 0, micros: 0, written: None }
    }

    /// Whether every rank has done its own.
    pub fn is_over(&self) -> bool {
        self.left.bytes == 0 && self.all.bytes > 0
    }

    /// The report of a call that is over with its opening.
    pub fn report(&self, direction: Direction, path: Path, why: &'static str, total: Duration) -> CallReport {
        let total = total.as_secs_f64();
        let io = self.micros as f64 / 1e6;
        let moved = self.written.unwrap_or_default() + self.moved;
        CallReport {
            path,
            why: why.into(),
            aggregators: usize::from(self.written.is_some()),
            requests: self.all.requests,
            bytes: self.all.bytes,
            bytes_written: if direction == Direction::Write { moved } else { 0 },
            bytes_read: if direction == Direction::Read { moved } else { 0 },
            seconds: Seconds { io, agreement: (total - io).max(0.0), total, ..Seconds::default() },
            ..CallReport::default()
        }
    }
}

/// An access to be written: the file's side, the memory's, the memory.
pub type Access<'a> = (&'a Extents, &'a BufferLayout, Source<'a>);

impl File {
    /// Agrees on a write, of which this rank has written its own `early`, or not. Collective.
    ///
    /// # Errors
    /// The lowest rank's, on every rank.
    pub(super) async fn agree_on_write(
        &mut self,
        (file, layout, source): Access<'_>,
        checked: Result<()>,
        early: Option<&Outcome>,
    ) -> Result<Opened> {
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
    pub(super) async fn agree_on_read(
        &mut self,
        file: &Extents,
        layout: &BufferLayout,
        checked: Result<u64>,
        early: Option<&Outcome>,
    ) -> Result<Opened> {
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
    ) -> Result<Opened> {
        let Some(hosts) = self.setup.hosts.clone() else {
            let agreed = agree_on_ranges(&mut self.endpoint, self.setup.io.as_ref(), file, checked, again).await?;
            return Ok(Opened::plain(agreed));
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
    /// Writes the data of all ranks, if all of it came and it is little: bytes, and microseconds.
    fn write_small(&mut self) -> Result<Option<(u64, u64)>> {
        let Brought { left, data, .. } = &self.brought;
        let Some(storage) = self.small.take() else { return Ok(None) };
        if !data.are_all() || left.bytes == 0 || left.bytes > self.setup.hints.tiny_call {
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

/// What rank 0 tells all.
struct Answer {
    failed: Option<Rank>,
    opened: Opened,
}

impl Answer {
    fn of(brought: &Brought, tiling: Tiling, written: Option<(u64, u64)>) -> Self {
        let agreed = |amount: &Amount| Agreed {
            start: amount.start,
            end: amount.end.min(brought.limit),
            bytes: amount.bytes,
            requests: amount.requests,
            disjoint: amount.spans <= amount.end.saturating_sub(amount.start),
            moved: brought.moved_by(),
        };
        let opened = Opened {
            all: agreed(&brought.all),
            left: agreed(&brought.left),
            disjoint: brought.are_disjoint(tiling),
            few: brought.all.most <= FEW,
            moved: brought.moved,
            micros: brought.micros.max(written.map_or(0, |(_, micros)| micros)),
            written: written.map(|(bytes, _)| bytes),
        };
        Self { failed: brought.failed(), opened }
    }

    fn put(&self) -> Vec<u8> {
        let Opened { all, left, disjoint, few, moved, micros, written } = &self.opened;
        let agreed =
            |agreed: &Agreed| [agreed.start, agreed.end, agreed.bytes, agreed.requests, u64::from(agreed.disjoint)];
        let optional = |number: Option<u64>| [u64::from(number.is_some()), number.unwrap_or_default()];
        let mut lanes = Vec::with_capacity(20);
        lanes.extend(optional(self.failed.map(|rank| rank as u64)));
        lanes.extend(agreed(all));
        lanes.extend(agreed(left));
        lanes.extend(optional(all.moved.map(|by| by as u64)));
        lanes.extend(optional(disjoint.map(u64::from)));
        lanes.extend(optional(*written));
        lanes.extend([*moved, *micros, u64::from(*few)]);
        lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    fn get(answer: &[u8]) -> Self {
        let mut lanes = words(answer);
        let mut next = || lanes.next().unwrap_or_default();
        let optional = |[is_some, number]: [u64; 2]| (is_some != 0).then_some(number);
        let failed = optional([next(), next()]);
        let [all, left] = [(); 2].map(|()| [(); 5].map(|()| next()));
        let by = optional([next(), next()]).map(|by| by as i64);
        let agreed = |[start, end, bytes, requests, disjoint]: [u64; 5]| Agreed {
            start,
            end,
            bytes,
            requests,
            disjoint: disjoint != 0,
            moved: by,
        };
        let disjoint = optional([next(), next()]).map(|disjoint| disjoint != 0);
        let written = optional([next(), next()]);
        let (moved, micros, few) = (next(), next(), next() != 0);
        let opened = Opened { all: agreed(all), left: agreed(left), disjoint, few, moved, micros, written };
        Self { failed: failed.map(|rank| rank as Rank), opened }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gives_back_what_was_decided() {
        let agreed = Agreed { start: 3, end: 90, bytes: 40, requests: 7, disjoint: true, moved: Some(-5) };
        let left = Agreed { start: 9, bytes: 10, disjoint: false, ..agreed };
        for (failed, disjoint, written) in
            [(None, None, Some(3)), (Some(2), Some(true), None), (None, Some(false), None)]
        {
            let opened = Opened { all: agreed, left, disjoint, few: written.is_some(), moved: 30, micros: 8, written };
            let back = Answer::get(&Answer { failed, opened }.put());
            assert_eq!((back.failed, back.opened), (failed, opened));
        }
    }
}
