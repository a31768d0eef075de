//! The facts of a call: a rank's arguments, errors and amounts ([`Facts`]), and how the facts of two ranks merge. They have the
//! same encoding in a slot of shared memory and in a message. The merged facts of all ranks give the result of a call's first
//! agreement ([`Agreed`]); the rules of the policy use nothing else.
//!
//! [`calls`] has the collective call that each rank is in, [`overlap`] whether ranks have bytes in common.

pub(in crate::engine) mod calls;
pub(in crate::engine) mod overlap;

use std::sync::Arc;

use tributary_base::wire;

use crate::access::{Direction, Extents};
use crate::engine::facts::calls::{CallFault, CallKind, CallKinds};
use crate::engine::facts::overlap::{RankRanges, Tiling};
use crate::engine::policy::MAX_CHECKED_PIECES;
use crate::engine::policy::path::Path;
use crate::engine::policy::rules::Decision;
use crate::engine::storage::behind::call::AgreedWrite;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{Storage, StorageFailure, guarded, without_size_signal};
use crate::error::{FileOperation, Result};
use crate::topology::Rank;
use crate::world::clock;

/// Bytes, extents and range of the accesses of one or more ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Lowest offset in the file; `u64::MAX` without data.
    pub start: u64,
    /// Highest end in the file; 0 without data. In an agreed read, at most the end of the file.
    pub end: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Number of extents.
    pub requests: u64,
    /// Maximum number of extents of a rank.
    pub most: u64,
    /// Estimated number of pairs (rank, window) in which the rank has bytes in the window; 0 if no choice depends
    /// on it.
    pub touched: u64,
}

wire::fields!(struct Amount { start, end, bytes, requests, most, touched });

impl Amount {
    /// The amount of a rank without bytes.
    pub const NONE: Self = Self { start: u64::MAX, end: 0, bytes: 0, requests: 0, most: 0, touched: 0 };

    /// Returns the amount of one rank, which has bytes in `touched` windows.
    #[inline]
    pub fn from_extents(file: &Extents, touched: u64) -> Self {
        let (requests, none) = (file.count(), Self { touched, ..Self::NONE });
        let of_range = |(start, end)| Self { start, end, bytes: file.bytes(), requests, most: requests, touched };
        file.span().map_or(none, of_range)
    }

    /// Merges the amount of other ranks.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
        self.most = self.most.max(other.most);
        self.touched = self.touched.saturating_add(other.touched);
    }

    /// Returns the part of this amount from `start` to `end`, as if bytes and extents lay evenly in the range.
    pub fn within(&self, start: u64, end: u64) -> Self {
        let span = u128::from(self.span().max(1));
        // No more than all.
        let part = |all: u64| (u128::from(all) * u128::from(end - start) / span) as u64;
        Self {
            start,
            end,
            bytes: part(self.bytes),
            requests: part(self.requests).max(1),
            most: part(self.most).max(1),
            touched: part(self.touched),
        }
    }

    /// Returns the length of the range in bytes.
    pub fn span(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns true if it is certain that ranks have no data for some bytes of the range.
    pub fn has_holes(&self) -> bool {
        self.bytes < self.span()
    }

    /// Returns the mean size of an extent in bytes.
    pub fn mean(&self) -> u64 {
        self.bytes / self.requests.max(1)
    }
}

/// Arguments, errors and amounts of one or more ranks in a call, for the first agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The collective calls that the ranks are in.
    pub calls: CallKinds,
    /// Lowest rank with an error; `None` if no rank has one.
    pub failed: Option<Rank>,
    /// Amount of the whole call, as the ranks passed it.
    pub all: Amount,
    /// Amount that is left after ranks have written or read their own bytes before the agreement. Bytes that a rank
    /// in shared memory has twice count once.
    pub left: Amount,
    /// How the access relates to the accesses of kept plans ([`AccessShift::words`]).
    pub again: [u64; 3],
    /// End of the file in bytes; `u64::MAX` if no rank has looked.
    pub limit: u64,
    /// Sum of the hashes of all pieces ([`Tiling`]); `None` if a rank has not computed its hashes.
    pub tiles: Option<u64>,
    /// Number of bytes that ranks have written or read before the agreement.
    pub transferred: u64,
    /// Maximum time over ranks for these bytes, in microseconds.
    pub micros: u64,
    /// True if all remaining data of the ranks comes along with the facts.
    pub comes_along: bool,
    /// True if only the ranks of this call, in this call, can be writing the file now.
    pub is_sole: bool,
    /// True if a rank has pieces that it would write before the agreement, if it may.
    pub wants_early: bool,
    /// True if a rank has let another library write by data sieving ([`WritersBeside::have_sieved`]).
    ///
    /// [`WritersBeside::have_sieved`]: crate::engine::WritersBeside::have_sieved
    pub have_sieved: bool,
}

wire::fields!(struct Facts {
    calls, failed, all, left, again, limit, tiles, transferred, micros, comes_along, is_sole, wants_early,
    have_sieved,
});

impl Facts {
    /// The neutral value, of no rank.
    pub const NONE: Self = Self {
        calls: CallKinds::NONE,
        failed: None,
        all: Amount::NONE,
        left: Amount::NONE,
        again: AccessShift::Nothing(u64::MAX).words(),
        limit: u64::MAX,
        tiles: Some(0),
        transferred: 0,
        micros: 0,
        comes_along: true,
        is_sole: true,
        wants_early: false,
        have_sieved: false,
    };

    /// Returns the facts of one rank that writes or reads `asked`. `early` is the outcome if the rank has already done
    /// so; otherwise it still has to write or read `file`, which has bytes in `touched` windows. Hashes the pieces if
    /// that is cheap compared with the call. Sets `is_sole` to false.
    #[inline]
    pub fn from_access(
        (asked, file): (&Extents, &Extents),
        (again, touched): (AccessShift, u64),
        early: Option<&Outcome>,
        tiling: Option<Tiling>,
    ) -> Self {
        let all = Amount::from_extents(asked, touched);
        let own = Self { all, again: again.words(), tiles: None, is_sole: false, ..Self::NONE };
        let tiling = tiling.filter(|_| early.is_some() || file.count() <= MAX_CHECKED_PIECES);
        let tiles = tiling.map(|tiling| {
            let mut sum = 0u64;
            match (file.count(), file.span()) {
                // A shortcut: starting an iteration takes longer.
                (1, Some((start, end))) => sum = tiling.piece(start, end),
                _ => file.iter().for_each(|piece| sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end()))),
            }
            sum
        });
        match early {
            Some(Outcome { bytes, busy, .. }) => {
                Self { tiles, transferred: *bytes, micros: busy.as_micros() as u64, ..own }
            }
            None => Self { tiles, left: Amount::from_extents(file, touched), comes_along: file.count() == 0, ..own },
        }
    }

    /// Returns the facts of `rank` in a call without data.
    pub fn without_data(kind: CallKind, rank: Rank) -> Self {
        Self { calls: CallKinds::new(kind, rank), ..Self::NONE }
    }

    /// Records that a rank has an error.
    pub fn fail(&mut self, rank: Rank) {
        self.failed = Some(self.failed.map_or(rank, |failed| failed.min(rank)));
    }

    /// Returns the range of a rank in the file as (start, end); `None` without data.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.all.bytes > 0).then_some((self.all.start, self.all.end))
    }

    /// Merges the facts of other ranks, in any order.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.calls.merge(other.calls);
        other.failed.into_iter().for_each(|rank| self.fail(rank));
        self.all.merge(&other.all);
        self.left.merge(&other.left);
        let ([plans, lowest, highest], [own, least, most]) = (other.again, self.again);
        self.again = [own & plans, least.min(lowest), most.max(highest)];
        self.limit = self.limit.min(other.limit);
        self.tiles = self.tiles.zip(other.tiles).map(|(own, other)| own.wrapping_add(other));
        self.transferred = self.transferred.saturating_add(other.transferred);
        self.micros = self.micros.max(other.micros);
        self.comes_along &= other.comes_along;
        self.is_sole &= other.is_sole;
        self.wants_early |= other.wants_early;
        self.have_sieved |= other.have_sieved;
    }
}

/// How a rank's access relates to the accesses of the kept plans. Plans are a set of bits, one for each kept plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessShift {
    /// The access differs from all plans.
    No,
    /// The access is that of these plans, shifted by this number of bytes.
    Shifted(u64, i64),
    /// The access is empty, like the accesses of these plans on this rank, so any shift of the other ranks fits.
    Nothing(u64),
}

impl AccessShift {
    /// Returns the words for the agreement: the plans that fit, and the lowest and highest shift that fit, as unsigned
    /// numbers in the order of the shifts.
    pub const fn words(self) -> [u64; 3] {
        match self {
            Self::No => [0, 0, 0],
            Self::Shifted(plans, by) => [plans, by as u64 ^ 1 << 63, by as u64 ^ 1 << 63],
            Self::Nothing(plans) => [plans, u64::MAX, 0],
        }
    }

    /// Returns the plan and the shift that fit all ranks, from the merged words.
    pub fn agreed(plans: u64, lowest: u64, highest: u64) -> Option<Reuse> {
        let by = |value: u64| (value ^ (1 << 63)) as i64;
        // If no rank has data, the shift is 0.
        let shift = if lowest > highest { Some(0) } else { (lowest == highest).then(|| by(lowest)) };
        shift.filter(|_| plans != 0).map(|shift| Reuse { plan: plans.trailing_zeros() as usize, shift })
    }
}

/// A kept plan that fits the access of every rank, and the shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reuse {
    /// Index of the plan among the kept plans.
    pub plan: usize,
    /// Number of bytes by which the access of every rank is shifted from the access of the plan.
    pub shift: i64,
}

wire::fields!(struct Reuse { plan, shift });

/// The result of a call's first agreement, the same on all ranks. One rank computes it and sends it to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Reason for which the call fails; `None` if it goes on. If it fails, ranks read only each other's facts,
    /// because other data depends on the call.
    pub failed: Option<CallFault>,
    /// Extents and bytes of the whole call, of all ranks.
    pub all: Amount,
    /// Extents and bytes that still have to be written or read, of all ranks.
    pub left: Amount,
    /// The kept plan that fits the access of every rank; `None` if there is none.
    pub reuse: Option<Reuse>,
    /// True if no two ranks have the same byte; `None` if this is unknown.
    pub disjoint: Option<bool>,
    /// True if it is certain that no two hosts have bytes in the same range.
    pub hosts_are_apart: bool,
    /// True if the data of all ranks came along with their facts.
    pub came_along: bool,
    /// True if bytes that ranks wrote before the agreement are written again, because ranks overlap.
    pub redone: bool,
    /// True if there is no shared memory for windows.
    pub no_memory: bool,
    /// Number of bytes that all ranks have written or read so far.
    pub transferred: u64,
    /// Maximum time over ranks for these bytes, in microseconds.
    pub micros: u64,
    /// True if only the ranks of this call, in this call, can be writing the file now. Only then may the call
    /// rewrite bytes in gaps between its pieces.
    pub is_sole: bool,
    /// True if a rank has pieces that it would write before the agreement, if it may.
    pub wants_early: bool,
    /// True if a rank has let another library write by data sieving.
    pub have_sieved: bool,
    /// How the bytes of the call go.
    pub decision: Decision,
}

wire::fields!(struct Agreed {
    failed, all, left, reuse, disjoint, hosts_are_apart, came_along, redone, no_memory, transferred, micros, is_sole,
    wants_early, have_sieved, decision,
});

impl Agreed {
    /// Computes the result from the merged facts of all ranks. `apart` is true if no two hosts have bytes in the same
    /// range.
    pub fn from_facts(facts: &Facts, ranges: &RankRanges, tiling: Tiling, apart: bool, direction: Direction) -> Self {
        let Facts { calls, failed, all, left, again, limit, transferred, micros, is_sole, .. } = *facts;
        let Facts { wants_early, have_sieved, .. } = *facts;
        let [plans, lowest, highest] = again;
        // If ranges overlap, their pieces may still be disjoint: the tiling shows it.
        let tiles = all.bytes == 0 || facts.tiles == Some(tiling.piece(all.start, all.end));
        let disjoint = if tiles { Some(true) } else { ranges.are_disjoint() };
        let until = |amount: Amount| Amount { end: amount.end.min(limit), ..amount };
        let mut agreed = Self {
            failed: match calls.are_mixed() {
                true => Some(CallFault::Mixed(calls)),
                false => failed.map(CallFault::OfRank),
            },
            all: until(all),
            left: until(left),
            reuse: AccessShift::agreed(plans, lowest, highest),
            disjoint,
            hosts_are_apart: apart,
            // Data that came along must not overwrite bytes that ranks have already written: then it goes through the
            // exchange.
            came_along: facts.comes_along && (transferred == 0 || disjoint == Some(true)),
            redone: false,
            no_memory: false,
            transferred,
            micros,
            is_sole,
            wants_early,
            have_sieved,
            decision: Decision::default(),
        };
        agreed.redo(direction);
        agreed
    }

    /// In a write of ranks that overlap: marks the bytes that ranks wrote before the agreement as left to write again,
    /// in order.
    pub fn redo(&mut self, direction: Direction) {
        if direction == Direction::Write && self.transferred > 0 && self.disjoint == Some(false) {
            (self.left, self.reuse, self.redone) = (self.all, None, true);
            (self.transferred, self.micros) = (0, 0);
        }
    }

    /// Returns what write-behind must know of a write.
    pub fn write_order(&self) -> AgreedWrite {
        AgreedWrite {
            range: (self.all.start, self.all.end),
            has_early: self.transferred > 0,
            is_repeated: self.redone,
            // On all other paths, one rank writes each byte.
            may_overlap: self.decision.path == Path::Direct && self.disjoint != Some(true),
        }
    }

    /// Writes the data that came along, on the one rank that decides. `write` writes and counts bytes. Errors name this
    /// rank and the file's path.
    ///
    /// # Errors
    /// The file cannot be opened or written; then `failed` names this rank.
    pub fn write_along(
        &mut self,
        storage: &Result<Arc<dyn Storage>>,
        (rank, path): (Rank, &std::path::Path),
        write: impl FnOnce(&dyn Storage, &mut u64) -> std::result::Result<(), StorageFailure>,
    ) -> Result<()> {
        let (begin, _quiet) = (clock::now(), without_size_signal());
        let wrote = storage.as_ref().map_err(Clone::clone).and_then(|storage| {
            guarded(FileOperation::Write, self.left.start, || write(&**storage, &mut self.transferred))
                .map_err(|failure| failure.into_error(rank, path))
        });
        self.micros = self.micros.max(clock::since(begin).as_micros() as u64);
        wrote.inspect_err(|_| self.failed = Some(CallFault::OfRank(rank)))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn facts_survive_encoding_and_merge() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let early = Outcome { bytes: 90, ..Outcome::default() };
        let of = |early| {
            Facts::from_access((&file, &file), (AccessShift::Shifted(5, -70), 12), early, Some(Tiling::from_key(5)))
        };
        let mut one = Facts { limit: 1000, ..of(Some(&early)) };
        one.fail(3);
        for own in [one, of(None), Facts::NONE] {
            assert_eq!(wire::from_bytes(&wire::to_bytes(&own)), Some(own));
            let mut all = Facts::NONE;
            all.merge(&own);
            assert_eq!(all, own);
        }
        assert_eq!((one.transferred, one.left, one.comes_along), (90, Amount::NONE, true));
        one.merge(&of(None));
        assert_eq!((one.failed, one.all.bytes, one.left.bytes, one.comes_along), (Some(3), 180, 90, false));
        assert_eq!((one.all.most, one.all.requests, one.all.span()), (9, 18, 250));
    }

    /// Returns the result of the agreement of ranks with these accesses. With `tiling`, ranks hash their pieces; the
    /// ranks in `early` have already written their bytes.
    pub fn agreed(files: &[Extents], tiling: Option<Tiling>, early: &[usize]) -> Agreed {
        let of = |(rank, file): (usize, &Extents)| {
            let outcome = Outcome { bytes: file.bytes(), ..Outcome::default() };
            Facts::from_access((file, file), (AccessShift::No, 0), early.contains(&rank).then_some(&outcome), tiling)
        };
        let ranks: Vec<_> = files.iter().enumerate().map(of).collect();
        let mut all = Facts::NONE;
        ranks.iter().for_each(|facts| all.merge(facts));
        let ranges = RankRanges::from_ranges(ranks.iter().filter_map(Facts::range));
        Agreed::from_facts(&all, &ranges, tiling.unwrap_or(Tiling::from_key(7)), false, Direction::Write)
    }

    #[test]
    fn tiling_pieces_and_disjoint_ranges_are_disjoint() {
        let all = |files: &[Extents], look: bool| agreed(files, look.then_some(Tiling::from_key(11)), &[]).disjoint;
        let strided = |rank: u64| Extents::strided(rank * 8, 8, 32, 9).unwrap();
        let interleaved: Vec<_> = (0..4).map(strided).collect();
        assert_eq!(all(&interleaved, true), Some(true));
        assert_eq!(all(&interleaved, false), Some(false), "as far as anybody knows");
        let twice: Vec<_> = [0, 1, 1, 3].map(strided).into();
        assert_eq!(all(&twice, true), Some(false));
        let block = |at| Extents::contiguous(at, 100).unwrap();
        assert_eq!(all(&[block(500), block(0), block(250)], false), Some(true));
        assert_eq!(all(&[block(500), block(450)], false), Some(false));
    }

    #[test]
    fn early_bytes_count_unless_ranks_overlap() {
        let block = |at| Extents::contiguous(at, 100).unwrap();
        let apart = agreed(&[block(0), block(500)], None, &[0]);
        assert_eq!((apart.left.bytes, apart.transferred, apart.redone), (100, 100, false));
        let overlapping = agreed(&[block(0), block(50)], None, &[0]);
        assert_eq!((overlapping.left.bytes, overlapping.transferred, overlapping.redone), (200, 0, true));
        assert!([apart, overlapping].iter().all(|one| wire::from_bytes(&wire::to_bytes(one)) == Some(*one)));
    }
}
