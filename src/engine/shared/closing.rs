//! The end of a call: its outcome on every rank, and the report that all ranks return.

use super::opening::{lanes, put};
use crate::collectives::broadcast_error;
use crate::engine::api::report::{CallReport, Path, Seconds};
use crate::engine::plan::Direction;
use crate::engine::policy::reason::Reason;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::fabric::shared::Slots;
use crate::topology::Rank;

/// No rank failed.
const NOBODY: u64 = u64::MAX;

/// The outcome of a call on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Closing {
    /// Whether the rank has an error.
    pub failed: bool,
    /// Bytes written or read.
    pub transferred: u64,
    /// Microseconds of copying, I/O, waiting, and in total.
    pub micros: [u64; 4],
}

/// The outcome of a call on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// The lowest rank with an error.
    pub failed: Option<Rank>,
    /// Bytes written or read by all ranks.
    pub transferred: u64,
    /// The maximum over all ranks.
    pub micros: [u64; 4],
    /// Whether the call must be repeated, rank after rank.
    pub again: bool,
    /// The current value of the signal of turns.
    pub turn: u32,
}

impl Closing {
    /// Writes the outcome to a slot.
    pub fn put(&self, slot: &mut [u8]) {
        let [a, b, c, d] = self.micros;
        put(slot, &[u64::from(self.failed), self.transferred, a, b, c, d]);
    }

    fn get(slot: &[u8]) -> Self {
        let [failed, transferred, a, b, c, d, ..] = lanes(slot);
        Self { failed: failed != 0, transferred, micros: [a, b, c, d] }
    }
}

impl Closed {
    /// The outcome on all ranks, from their slots. Called by the last rank to arrive.
    pub fn of(slots: Slots<'_>) -> Self {
        let mut all = Self { failed: None, transferred: 0, micros: [0; 4], again: false, turn: 0 };
        for place in 0..slots.ranks() {
            let one = Closing::get(slots.of(place));
            if one.failed && all.failed.is_none() {
                all.failed = Some(slots.rank(place));
            }
            all.transferred += one.transferred;
            all.micros.iter_mut().zip(one.micros).for_each(|(most, own)| *most = (*most).max(own));
        }
        all
    }

    /// Writes the outcome to the verdict.
    pub fn put(&self, verdict: &mut [u8]) {
        let [a, b, c, d] = self.micros;
        let failed = self.failed.map_or(NOBODY, |rank| rank as u64);
        put(verdict, &[failed, self.transferred, a, b, c, d, u64::from(self.again), u64::from(self.turn)]);
    }

    /// Reads the outcome from the verdict.
    pub fn get(verdict: &[u8]) -> Self {
        let [failed, transferred, a, b, c, d, again, turn, ..] = lanes(verdict);
        let failed = (failed != NOBODY).then_some(failed as Rank);
        Self { failed, transferred, micros: [a, b, c, d], again: again != 0, turn: turn as u32 }
    }
}

/// The facts of a call that all ranks know before its end.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Write or read.
    pub direction: Direction,
    /// The path of the bytes.
    pub path: Path,
    /// Why this path was chosen.
    pub reason: Reason,
    /// Number of extents, as the ranks passed them.
    pub count: u64,
    /// Bytes to write or read.
    pub bytes: u64,
    /// Number of windows.
    pub rounds: u64,
}

/// The report of a call. Collective.
///
/// # Errors
/// The error of the lowest rank that has one, on every rank; those of the fabric.
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
        Direction::Write => (closed.transferred, 0),
        Direction::Read => (0, closed.transferred),
    };
    let [placement, io, agreement, total] = closed.micros.map(|micros| micros as f64 / 1e6);
    Ok(CallReport {
        path: known.path,
        reason: known.reason,
        auto: None,
        told: None,
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
        between_hosts: 0,
        seconds: Seconds { placement, io, agreement, total, ..Seconds::default() },
    })
}
