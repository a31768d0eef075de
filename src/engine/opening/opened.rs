//! What all ranks know after the opening of a call, and how rank 0 tells it.

use std::time::Duration;

use super::FEW;
use super::brought::{Amount, Brought};
use crate::collectives::sweep::words;
use crate::engine::api::report::{CallReport, Path, Seconds};
use crate::engine::plan::{Agreed, Direction};
use crate::engine::shared::Tiling;
use crate::topology::Rank;

/// What all ranks know after the opening of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenedCall {
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

impl OpenedCall {
    /// From an agreement on ranges alone.
    pub fn plain(agreed: Agreed) -> Self {
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

/// What rank 0 tells all.
pub struct Answer {
    /// The lowest rank with an error.
    pub failed: Option<Rank>,
    /// The rest, of no meaning then.
    pub opened: OpenedCall,
}

impl Answer {
    /// What came of all that was brought; `written`: bytes, and microseconds, if rank 0 wrote little data.
    pub fn of(brought: &Brought, tiling: Tiling, written: Option<(u64, u64)>) -> Self {
        let agreed = |amount: &Amount| Agreed {
            start: amount.start,
            end: amount.end.min(brought.limit),
            bytes: amount.bytes,
            requests: amount.requests,
            disjoint: amount.spans <= amount.end.saturating_sub(amount.start),
            moved: brought.moved_by(),
        };
        let opened = OpenedCall {
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

    /// As bytes.
    pub fn put(&self) -> Vec<u8> {
        let OpenedCall { all, left, disjoint, few, moved, micros, written } = &self.opened;
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

    /// From bytes.
    pub fn get(answer: &[u8]) -> Self {
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
        let opened = OpenedCall { all: agreed(all), left: agreed(left), disjoint, few, moved, micros, written };
        Self { failed: failed.map(|rank| rank as Rank), opened }
    }
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
            let opened =
                OpenedCall { all: agreed, left, disjoint, few: written.is_some(), moved: 30, micros: 8, written };
            let back = Answer::get(&Answer { failed, opened }.put());
            assert_eq!((back.failed, back.opened), (failed, opened));
        }
    }
}
