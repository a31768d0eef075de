//! The facts of a call: a rank's arguments, errors and amounts, and how the facts of two ranks merge. They have the
//! same encoding in a slot of shared memory and in a message.
//!
//! | module | holds |
//! |---|---|
//! | [`calls`] | the collective call that each rank is in |
//! | [`ranges`] | the ranges of ranks, and whether they overlap |
//! | [`tiling`] | a hash that shows whether pieces of several ranks tile a range |
//! | [`reuse`] | how an access relates to the accesses of kept plans |
//! | [`agreed`] | the result of merging the facts of all ranks |

pub(in crate::engine) mod agreed;
pub(in crate::engine) mod calls;
pub(in crate::engine) mod ranges;
pub(in crate::engine) mod reuse;
pub(in crate::engine) mod tiling;

use tributary_base::wire;

use crate::access::Extents;
use crate::engine::facts::calls::{CallKind, CallKinds};
use crate::engine::facts::reuse::AccessShift;
use crate::engine::facts::tiling::Tiling;
use crate::engine::policy::MAX_CHECKED_PIECES;
use crate::engine::storage::window_queue::Outcome;
use crate::topology::Rank;

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

#[cfg(test)]
mod tests {
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
}
