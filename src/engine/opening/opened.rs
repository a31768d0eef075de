//! The result of the first agreement of a call, and its encoding.

use std::time::Duration;

use super::contribution::{Amount, Contribution};
use crate::collectives::sweep::words;
use crate::engine::api::report::{CallReport, Path, Seconds};
use crate::engine::plan::{Agreed, Direction};
use crate::engine::policy::FEW_PIECES;
use crate::engine::policy::reason::Reason;
use crate::engine::shared::Tiling;
use crate::topology::Rank;

/// The result of the first agreement of a call, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenedCall {
    /// The ranges and sizes of the whole call.
    pub all: Agreed,
    /// Those that are left after direct writes or reads, if ranks do not overlap.
    pub left: Agreed,
    /// Whether no two ranks have the same byte, if that is known.
    pub disjoint: Option<bool>,
    /// Whether no rank has more than a few pieces.
    pub few: bool,
    /// Bytes that ranks have written or read directly.
    pub transferred: u64,
    /// The most microseconds that a rank took for them.
    micros: u64,
    /// The bytes that rank 0 has written, if it has written all.
    pub written: Option<u64>,
}

impl OpenedCall {
    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.left.bytes == 0 && self.all.bytes > 0
    }

    /// The report of a call that ends with the first agreement.
    pub fn report(&self, direction: Direction, path: Path, reason: Reason, total: Duration) -> CallReport {
        let total = total.as_secs_f64();
        let io = self.micros as f64 / 1e6;
        let transferred = self.written.unwrap_or_default() + self.transferred;
        CallReport {
            path,
            reason,
            aggregators: usize::from(self.written.is_some()),
            requests: self.all.requests,
            bytes: self.all.bytes,
            bytes_written: if direction == Direction::Write { transferred } else { 0 },
            bytes_read: if direction == Direction::Read { transferred } else { 0 },
            seconds: Seconds { io, agreement: (total - io).max(0.0), total, ..Seconds::default() },
            ..CallReport::default()
        }
    }
}

/// The answer of rank 0.
pub struct Answer {
    /// The lowest rank with an error.
    pub failed: Option<Rank>,
    /// The result; undefined if a rank failed.
    pub opened: OpenedCall,
}

impl Answer {
    /// The answer to the merged contributions. `written` has bytes and microseconds, if rank 0 has written small data.
    pub fn of(contribution: &Contribution, tiling: Tiling, written: Option<(u64, u64)>) -> Self {
        let agreed = |amount: &Amount| Agreed {
            start: amount.start,
            end: amount.end.min(contribution.limit),
            bytes: amount.bytes,
            requests: amount.requests,
            touched: amount.touched,
            disjoint: amount.spans <= amount.end.saturating_sub(amount.start),
            shift: contribution.shift(),
            hosts_are_apart: contribution.cover.hosts_are_apart(),
        };
        let opened = OpenedCall {
            all: agreed(&contribution.all),
            left: agreed(&contribution.left),
            disjoint: contribution.are_disjoint(tiling),
            few: contribution.all.most <= FEW_PIECES,
            transferred: contribution.transferred,
            micros: contribution.micros.max(written.map_or(0, |(_, micros)| micros)),
            written: written.map(|(bytes, _)| bytes),
        };
        Self { failed: contribution.failed(), opened }
    }

    /// The answer as bytes.
    pub fn put(&self) -> Vec<u8> {
        let OpenedCall { all, left, disjoint, few, transferred, micros, written } = &self.opened;
        let agreed = |it: &Agreed| [it.start, it.end, it.bytes, it.requests, it.touched, u64::from(it.disjoint)];
        let optional = |number: Option<u64>| [u64::from(number.is_some()), number.unwrap_or_default()];
        let mut lanes = Vec::with_capacity(24);
        lanes.extend(optional(self.failed.map(|rank| rank as u64)));
        lanes.extend(agreed(all));
        lanes.extend(agreed(left));
        lanes.extend(optional(all.shift.map(|by| by as u64)));
        lanes.extend(optional(disjoint.map(u64::from)));
        lanes.extend(optional(*written));
        lanes.extend([*transferred, *micros, u64::from(*few), u64::from(all.hosts_are_apart)]);
        lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    /// The answer from bytes.
    pub fn get(answer: &[u8]) -> Self {
        let mut lanes = words(answer);
        let mut next = || lanes.next().unwrap_or_default();
        let optional = |[is_some, number]: [u64; 2]| (is_some != 0).then_some(number);
        let failed = optional([next(), next()]);
        let [all, left] = [(); 2].map(|()| [(); 6].map(|()| next()));
        let by = optional([next(), next()]).map(|by| by as i64);
        let disjoint = optional([next(), next()]).map(|disjoint| disjoint != 0);
        let written = optional([next(), next()]);
        let (transferred, micros, few, hosts_are_apart) = (next(), next(), next() != 0, next() != 0);
        let agreed = |[start, end, bytes, requests, touched, disjoint]: [u64; 6]| Agreed {
            start,
            end,
            bytes,
            requests,
            touched,
            disjoint: disjoint != 0,
            shift: by,
            hosts_are_apart,
        };
        let opened = OpenedCall { all: agreed(all), left: agreed(left), disjoint, few, transferred, micros, written };
        Self { failed: failed.map(|rank| rank as Rank), opened }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_encoding() {
        let agreed = Agreed {
            start: 3,
            end: 90,
            bytes: 40,
            requests: 7,
            touched: 99,
            disjoint: true,
            shift: Some(-5),
            hosts_are_apart: true,
        };
        let left = Agreed { start: 9, bytes: 10, disjoint: false, ..agreed };
        for (failed, disjoint, written) in
            [(None, None, Some(3)), (Some(2), Some(true), None), (None, Some(false), None)]
        {
            let few = written.is_some();
            let opened = OpenedCall { all: agreed, left, disjoint, few, transferred: 30, micros: 8, written };
            let back = Answer::get(&Answer { failed, opened }.put());
            assert_eq!((back.failed, back.opened), (failed, opened));
        }
    }
}
