//! The contribution of a rank, or of several merged ranks, to the first agreement of a call.

use super::cover::Cover;
use super::ranges::RankRanges;
use super::small::{OF_ONE_RANK, SmallData};
use crate::access::Extents;
use crate::collectives::sweep::{MAX_BODY, words};
use crate::engine::plan::cached::Again;
use crate::engine::shared::Tiling;
use crate::fabric::shared::MAX_CONTRIBUTION;

/// No rank.
const NOBODY: u64 = u64::MAX;

/// The bytes of ranks and their range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Lowest offset.
    pub start: u64,
    /// Highest end; 0 without data.
    pub end: u64,
    /// Bytes.
    pub bytes: u64,
    /// Number of extents, as the ranks passed them.
    pub requests: u64,
    /// Sum of the lengths of the ranks' ranges.
    pub spans: u64,
    /// Most extents of any rank.
    pub most: u64,
    /// See [`crate::engine::plan::Agreed::touched`].
    pub touched: u64,
}

impl Amount {
    /// No bytes.
    const NONE: Self = Self { start: u64::MAX, end: 0, bytes: 0, requests: 0, spans: 0, most: 0, touched: 0 };
    const LANES: usize = 7;

    /// The amount of one rank.
    pub fn of(file: &Extents, touched: u64) -> Self {
        match file.span() {
            Some((start, end)) => Self {
                start,
                end,
                bytes: file.bytes(),
                requests: file.count(),
                spans: end.saturating_sub(start),
                most: file.count(),
                touched,
            },
            None => Self::NONE,
        }
    }

    fn add(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.requests = self.requests.saturating_add(other.requests);
        self.spans = self.spans.saturating_add(other.spans);
        self.most = self.most.max(other.most);
        self.touched = self.touched.saturating_add(other.touched);
    }

    fn lanes(&self) -> [u64; Self::LANES] {
        [self.start, self.end, self.bytes, self.requests, self.spans, self.most, self.touched]
    }

    fn from([start, end, bytes, requests, spans, most, touched]: [u64; Self::LANES]) -> Self {
        Self { start, end, bytes, requests, spans, most, touched }
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contribution {
    /// The lowest rank with an error.
    failed: u64,
    /// The amount of the whole call.
    pub all: Amount,
    /// The amount that is left after ranks have written or read their own bytes directly.
    pub left: Amount,
    /// How the access relates to that of the cached plan ([`Again`]).
    again: [u64; 3],
    /// The end of the file; `u64::MAX` if no rank has checked it.
    pub limit: u64,
    /// The sum of the pieces' hashes ([`Tiling`]); `None` if some rank has not computed it.
    tiles: Option<u64>,
    /// Bytes that ranks have written or read directly.
    pub transferred: u64,
    /// The most microseconds that a rank took for them.
    pub micros: u64,
    ranges: RankRanges,
    /// What hosts hold.
    pub cover: Cover,
    /// The data, if it is small.
    pub data: SmallData,
}

impl Contribution {
    /// The contribution of a rank that writes or reads `file`, and touches so many parts of it; `cover` is what it holds.
    pub fn new(file: &Extents, (again, touched): (Again, u64), tiling: Option<Tiling>, cover: Cover) -> Self {
        let all = Amount::of(file, touched);
        let add =
            |sum: u64, piece: crate::Extent, tiling: Tiling| sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
        Self {
            failed: NOBODY,
            all,
            left: all,
            again: again.lanes(),
            limit: u64::MAX,
            tiles: tiling.map(|tiling| file.iter().fold(0, |sum, piece| add(sum, piece, tiling))),
            transferred: 0,
            micros: 0,
            ranges: RankRanges::of(file.span()),
            cover,
            data: if all.bytes == 0 { SmallData::default() } else { SmallData::too_large() },
        }
    }

    /// Records that `rank` has an error.
    pub fn fail(&mut self, rank: crate::Rank) {
        self.failed = self.failed.min(rank as u64);
    }

    /// The lowest rank with an error.
    pub fn failed(&self) -> Option<crate::Rank> {
        (self.failed != NOBODY).then_some(self.failed as crate::Rank)
    }

    /// Records that this rank has written or read all its bytes directly, in `micros` microseconds.
    pub fn served(&mut self, bytes: u64, micros: u64) {
        (self.left, self.transferred, self.micros) = (Amount::NONE, bytes, micros);
        self.data = SmallData::default();
    }

    /// The shift of all accesses from those of the cached plan, if it is the same on all ranks.
    pub fn shift(&self) -> Option<i64> {
        let [again, lowest, highest] = self.again;
        Again::agreed(again, lowest, highest)
    }

    /// Whether no two ranks have the same byte: their ranges do not overlap, or the pieces tile the whole range. `None` if this
    /// is not known.
    pub fn are_disjoint(&self, tiling: Tiling) -> Option<bool> {
        if self.all.bytes == 0 || self.tiles == Some(tiling.piece(self.all.start, self.all.end)) {
            return Some(true);
        }
        // In ranges that overlap, pieces may overlap or not.
        self.ranges.are_disjoint()
    }

    /// Merges the contribution of other ranks.
    pub fn merge(&mut self, other: Self) {
        self.failed = self.failed.min(other.failed);
        self.all.add(&other.all);
        self.left.add(&other.left);
        let [again, lowest, highest] = other.again;
        self.again = [self.again[0].min(again), self.again[1].min(lowest), self.again[2].max(highest)];
        self.limit = self.limit.min(other.limit);
        self.tiles = self.tiles.zip(other.tiles).map(|(own, other)| own.wrapping_add(other));
        self.transferred = self.transferred.saturating_add(other.transferred);
        self.micros = self.micros.max(other.micros);
        self.ranges.merge(other.ranges);
        self.cover.merge(other.cover);
        self.data.merge(other.data);
    }

    /// The contribution as bytes.
    pub fn body(&self) -> Vec<u8> {
        let mut lanes = vec![self.failed];
        lanes.extend(self.all.lanes());
        lanes.extend(self.left.lanes());
        lanes.extend(self.again);
        lanes.extend([self.limit, u64::from(self.tiles.is_some()), self.tiles.unwrap_or_default()]);
        lanes.extend([self.transferred, self.micros]);
        self.ranges.put(&mut lanes);
        lanes.push(self.data.len());
        let mut body: Vec<u8> = lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect();
        let mut cover = Vec::new();
        self.cover.put(&mut cover);
        let data = self.data.bytes().len();
        let room = if data <= OF_ONE_RANK { MAX_CONTRIBUTION } else { MAX_BODY };
        if body.len() + cover.len() + data > room {
            cover.clear();
            Cover::unknown(0).put(&mut cover);
        }
        body.extend_from_slice(&cover);
        body.extend_from_slice(self.data.bytes());
        body
    }

    /// The contribution from bytes.
    pub fn from(body: &[u8]) -> Self {
        let mut lanes = words(body);
        let mut read = 0;
        let mut next = || {
            read += 1;
            lanes.next().unwrap_or_default()
        };
        let failed = next();
        let [all, left] = [(); 2].map(|()| Amount::from([(); Amount::LANES].map(|()| next())));
        let again = [(); 3].map(|()| next());
        let [limit, is_tiled, tiles, transferred, micros] = [(); 5].map(|()| next());
        let ranges = RankRanges::get(&mut std::iter::from_fn(|| Some(next())));
        let len = next();
        let mut at = 8 * read;
        let cover = Cover::get(body, &mut at);
        let data = SmallData::from(body.get(at..).unwrap_or_default(), len);
        let tiles = (is_tiled != 0).then_some(tiles);
        Self { failed, all, left, again, limit, tiles, transferred, micros, ranges, cover, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contribution_survives_encoding() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let mut one = Contribution::new(&file, (Again::Shifted(-70), 12), Some(Tiling::of(5)), Cover::of(3, &file, 1));
        assert_eq!(Contribution::from(&one.body()), one);
        one.served(90, 12);
        one.fail(3);
        one.limit = 1000;
        assert_eq!(Contribution::from(&one.body()), one);
        let mut none = Contribution::new(&Extents::empty(), (Again::Nothing, 0), None, Cover::unknown(3));
        assert_eq!(Contribution::from(&none.body()), none);
        none.merge(one.clone());
        assert_eq!((none.failed(), none.shift(), none.all, none.left), (Some(3), Some(-70), one.all, Amount::NONE));
    }

    #[test]
    fn tiling_pieces_and_disjoint_ranges_are_disjoint() {
        let tiling = Tiling::of(11);
        let all = |files: &[Extents], look: bool| {
            let look = look.then_some(tiling);
            let mut all = Contribution::new(&Extents::empty(), (Again::No, 0), Some(tiling), Cover::unknown(0));
            files.iter().for_each(|file| all.merge(Contribution::new(file, (Again::No, 3), look, Cover::unknown(0))));
            all.are_disjoint(tiling)
        };
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
}
