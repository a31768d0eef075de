//! The facts of a call: what a rank brings to it, and how the facts of two ranks merge. They are the same in a slot of shared
//! memory and in a message.
//!
//! | module | holds |
//! |---|---|
//! | [`words`](mod@words) | their encoding |
//! | [`calls`] | which collective call ranks are in |
//! | [`ranges`] | the ranges of ranks, and whether they overlap |
//! | [`tiling`] | a hash that shows whether pieces of several ranks tile a range |
//! | [`reuse`] | how an access relates to those of plans that are kept |
//! | [`agreed`] | what all ranks know once their facts are merged |

pub(in crate::engine) mod agreed;
pub(in crate::engine) mod calls;
pub(in crate::engine) mod ranges;
pub(in crate::engine) mod reuse;
pub(in crate::engine) mod tiling;
pub(in crate::engine) mod words;

use crate::access::Extents;
use crate::engine::facts::calls::{CallKind, CallKinds};
use crate::engine::facts::reuse::AccessShift;
use crate::engine::facts::tiling::Tiling;
use crate::engine::facts::words::words;
use crate::engine::policy::MAX_CHECKED_PIECES;
use crate::engine::storage::window_queue::Outcome;
use crate::topology::Rank;

words! {
    /// The bytes of ranks and their range.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Amount {
        /// Lowest offset; `u64::MAX` without data.
        pub start: u64,
        /// Highest end; 0 without data. Once agreed, for a read, at most the end of the file.
        pub end: u64,
        /// Bytes.
        pub bytes: u64,
        /// Number of extents.
        pub requests: u64,
        /// Most extents of any rank.
        pub most: u64,
        /// About the number of pairs of a rank and a window in which the rank has bytes; 0 if no choice depends on it.
        pub touched: u64,
    }
}

impl Amount {
    /// No bytes.
    pub const NONE: Self = Self { start: u64::MAX, end: 0, bytes: 0, requests: 0, most: 0, touched: 0 };

    /// The amount of one rank, which touches so many windows.
    #[inline]
    pub(in crate::engine) fn of(file: &Extents, touched: u64) -> Self {
        let (requests, none) = (file.count(), Self { touched, ..Self::NONE });
        let of_range = |(start, end)| Self { start, end, bytes: file.bytes(), requests, most: requests, touched };
        file.span().map_or(none, of_range)
    }

    /// Adds the amount of other ranks.
    #[inline]
    pub(in crate::engine) fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
        self.most = self.most.max(other.most);
        self.touched = self.touched.saturating_add(other.touched);
    }

    /// The length of the range in bytes.
    pub fn span(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// The mean size of an extent in bytes.
    pub fn mean(&self) -> u64 {
        self.bytes / self.requests.max(1)
    }
}

words! {
    /// See the module.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Facts {
        /// The collective call.
        pub calls: CallKinds,
        /// The lowest rank with an error.
        pub failed: Option<Rank>,
        /// The amount of the whole call, as the ranks passed it.
        pub all: Amount,
        /// The amount that is left after ranks have written or read their own bytes early. Bytes that a rank of a host has twice
        /// count once.
        pub left: Amount,
        /// How the access relates to those of the plans that are kept ([`AccessShift::words`]).
        pub again: [u64; 3],
        /// The end of the file; `u64::MAX` if no rank has looked.
        pub limit: u64,
        /// The sum of the hashes of the pieces ([`Tiling`]); `None` if some rank has not computed it.
        pub tiles: Option<u64>,
        /// Bytes that ranks have written or read early.
        pub transferred: u64,
        /// The most microseconds that a rank took for them.
        pub micros: u64,
        /// Whether all data that is left comes along with the facts.
        pub comes_along: bool,
        /// Whether nobody can be writing the file during the call but the call's ranks, in the call.
        pub is_sole: bool,
    }
}

impl Facts {
    /// The facts of no rank.
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
    };

    /// The facts of a rank that writes or reads `asked`. `early` is the outcome if it has done so already; otherwise it has `file`
    /// to do, and touches so many windows. The hash is computed if that is cheap compared with the call. Others may be writing the
    /// file, until the caller says otherwise.
    #[inline]
    pub fn of(
        (asked, file): (&Extents, &Extents),
        (again, touched): (AccessShift, u64),
        early: Option<&Outcome>,
        tiling: Option<Tiling>,
    ) -> Self {
        let all = Amount::of(asked, touched);
        let own = Self { all, again: again.words(), tiles: None, is_sole: false, ..Self::NONE };
        let tiling = tiling.filter(|_| early.is_some() || file.count() <= MAX_CHECKED_PIECES);
        let tiles = tiling.map(|tiling| {
            let mut sum = 0u64;
            file.iter().for_each(|piece| sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end())));
            sum
        });
        match early {
            Some(Outcome { bytes, busy, .. }) => {
                Self { tiles, transferred: *bytes, micros: busy.as_micros() as u64, ..own }
            }
            None => Self { tiles, left: Amount::of(file, touched), comes_along: file.count() == 0, ..own },
        }
    }

    /// The facts of `rank` in a call without data.
    pub fn without_data(kind: CallKind, rank: Rank) -> Self {
        Self { calls: CallKinds::of(kind, rank), ..Self::NONE }
    }

    /// Notes that a rank has an error.
    pub fn fail(&mut self, rank: Rank) {
        self.failed = Some(self.failed.map_or(rank, |failed| failed.min(rank)));
    }

    /// The range of a rank, if it has data.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.all.bytes > 0).then_some((self.all.start, self.all.end))
    }

    /// Adds the facts of other ranks, in any order.
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::facts::words::{get, message};

    #[test]
    fn facts_survive_encoding_and_merge() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let early = Outcome { bytes: 90, ..Outcome::default() };
        let of = |early| Facts::of((&file, &file), (AccessShift::Shifted(5, -70), 12), early, Some(Tiling::of(5)));
        let mut one = Facts { limit: 1000, ..of(Some(&early)) };
        one.fail(3);
        for own in [one, of(None), Facts::NONE] {
            assert_eq!(get::<Facts>(&message(&own)), own);
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
