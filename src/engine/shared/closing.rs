//! The end of a call: what became of it on every rank, and the report that all return.

use std::borrow::Cow;

use super::opening::{lanes, put};
use crate::collectives::broadcast_error;
use crate::engine::api::report::{CallReport, Path, Seconds};
use crate::engine::plan::Direction;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::Slots;
use crate::topology::Rank;

/// Nobody failed.
const NOBODY: u64 = u64::MAX;

/// What a rank tells of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Closing {
    /// It has an error.
    pub failed: bool,
    /// Bytes that got into the file, or out of it.
    pub moved: u64,
    /// Microseconds: copying, in the file system, waiting, in all.
    pub micros: [u64; 4],
}

/// What all ranks together tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// The lowest rank with an error.
    pub failed: Option<Rank>,
    /// The sum.
    pub moved: u64,
    /// The most of any rank.
    pub micros: [u64; 4],
    /// The call must be done again, in order.
    pub again: bool,
    /// What the signal of turns counts now.
    pub turn: u32,
}

impl Closing {
    /// Into a slot.
    pub fn put(&self, slot: &mut [u8]) {
        let [a, b, c, d] = self.micros;
        put(slot, &[u64::from(self.failed), self.moved, a, b, c, d]);
    }

    fn get(slot: &[u8]) -> Self {
        let [failed, moved, a, b, c, d, ..] = lanes(slot);
        Self { failed: failed != 0, moved, micros: [a, b, c, d] }
    }
}

impl Closed {
    /// Sums up. By the last rank to arrive.
    pub fn of(slots: Slots<'_>) -> Self {
        let mut all = Self { failed: None, moved: 0, micros: [0; 4], again: false, turn: 0 };
        for rank in 0..slots.ranks() {
            let one = Closing::get(slots.of(rank));
            if one.failed && all.failed.is_none() {
                all.failed = Some(rank);
            }
            all.moved += one.moved;
            all.micros.iter_mut().zip(one.micros).for_each(|(most, own)| *most = (*most).max(own));
        }
        all
    }

    /// Into the verdict.
    pub fn put(&self, verdict: &mut [u8]) {
        let [a, b, c, d] = self.micros;
        let failed = self.failed.map_or(NOBODY, |rank| rank as u64);
        put(verdict, &[failed, self.moved, a, b, c, d, u64::from(self.again), u64::from(self.turn)]);
    }

    /// From the verdict.
    pub fn get(verdict: &[u8]) -> Self {
        let [failed, moved, a, b, c, d, again, turn, ..] = lanes(verdict);
        let failed = (failed != NOBODY).then_some(failed as Rank);
        Self { failed, moved, micros: [a, b, c, d], again: again != 0, turn: turn as u32 }
    }
}

/// What all ranks know of a call before its end.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Write or read.
    pub direction: Direction,
    /// Which way the bytes went.
    pub path: Path,
    /// Why.
    pub why: &'static str,
    /// Extents, as the ranks gave them.
    pub count: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Windows.
    pub rounds: u64,
}

/// The report; or the error of the lowest rank that has one, on every rank. Collective.
///
/// # Errors
/// That error, or the fabric's.
pub async fn report(
    endpoint: &mut Endpoint,
    known: Known,
    closed: Closed,
    error: Option<&Error>,
) -> Result<CallReport> {
    if let Some(failed) = closed.failed {
        return Err(broadcast_error(endpoint, failed, error).await?);
    }
    let (bytes_written, bytes_read) = match known.direction {
        Direction::Write => (closed.moved, 0),
        Direction::Read => (0, closed.moved),
    };
    let [placement, io, agreement, total] = closed.micros.map(|micros| micros as f64 / 1e6);
    Ok(CallReport {
        path: known.path,
        why: Cow::Borrowed(known.why),
        plan_reused: false,
        aggregators: usize::from(known.path != Path::Nothing),
        requests: known.count,
        bytes: known.bytes,
        bytes_written,
        bytes_read,
        rounds: known.rounds,
        metadata_bytes: 0,
        metadata_messages: 0,
        data_messages: 0,
        in_memory: 0,
        seconds: Seconds { placement, io, agreement, total, ..Seconds::default() },
    })
}
