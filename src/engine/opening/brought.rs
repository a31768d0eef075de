//! What one rank, or several together, bring to the opening of a call.

use super::ranges::Ranges;
use super::small::Blocks;
use crate::access::Extents;
use crate::collectives::sweep::words;
use crate::engine::plan::Again;
use crate::engine::shared::Tiling;

/// Nobody.
const NOBODY: u64 = u64::MAX;

/// How much ranks have, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// Lowest offset.
    pub start: u64,
    /// Highest end; 0 without data.
    pub end: u64,
    /// Bytes.
    pub bytes: u64,
    /// Extents, as the ranks gave them.
    pub requests: u64,
    /// The lengths of the ranks' ranges, summed.
    pub spans: u64,
    /// The most extents of any rank.
    pub most: u64,
}

impl Amount {
    /// Nothing.
    const NONE: Self = Self { start: u64::MAX, end: 0, bytes: 0, requests: 0, spans: 0, most: 0 };
    const LANES: usize = 6;

    /// One rank's.
    pub fn of(file: &Extents) -> Self {
        match file.span() {
            Some((start, end)) => Self {
                start,
                end,
                bytes: file.bytes(),
                requests: file.count(),
                spans: end.saturating_sub(start),
                most: file.count(),
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
    }

    fn lanes(&self) -> [u64; Self::LANES] {
        [self.start, self.end, self.bytes, self.requests, self.spans, self.most]
    }

    fn from([start, end, bytes, requests, spans, most]: [u64; Self::LANES]) -> Self {
        Self { start, end, bytes, requests, spans, most }
    }
}

/// What one rank, or several together, bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The lowest rank with an error.
    failed: u64,
    /// What the call is about.
    pub all: Amount,
    /// What is left of it, where ranks have written, or read, their own already.
    pub left: Amount,
    /// What the access is to that of the kept plan ([`Again`]).
    again: [u64; 3],
    /// Where the file ends, as far as somebody looked.
    pub limit: u64,
    /// What the pieces add to the tiling of the range; none where some rank has not looked.
    tiles: Option<u64>,
    /// Bytes that ranks have written, or read, by themselves, and the most microseconds that took any.
    pub moved: u64,
    /// See `moved`.
    pub micros: u64,
    ranges: Ranges,
    /// The data itself, while it is small.
    pub data: Blocks,
}

impl Brought {
    /// What a rank brings that has `file` to write or read.
    pub fn new(file: &Extents, again: Again, tiling: Option<Tiling>) -> Self {
        let all = Amount::of(file);
        let add =
            |sum: u64, piece: crate::Extent, tiling: Tiling| sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
        Self {
            failed: NOBODY,
            all,
            left: all,
            again: again.lanes(),
            limit: u64::MAX,
            tiles: tiling.map(|tiling| file.iter().fold(0, |sum, piece| add(sum, piece, tiling))),
            moved: 0,
            micros: 0,
            ranges: Ranges::of(file.span()),
            data: if all.bytes == 0 { Blocks::default() } else { Blocks::too_large() },
        }
    }

    /// This rank has an error.
    pub fn fail(&mut self, rank: crate::Rank) {
        self.failed = self.failed.min(rank as u64);
    }

    /// The lowest rank with an error.
    pub fn failed(&self) -> Option<crate::Rank> {
        (self.failed != NOBODY).then_some(self.failed as crate::Rank)
    }

    /// This rank has written, or read, all that it has: so many bytes, in so many microseconds.
    pub fn served(&mut self, bytes: u64, micros: u64) {
        (self.left, self.moved, self.micros) = (Amount::NONE, bytes, micros);
        self.data = Blocks::default();
    }

    /// How far all accesses lie behind those of the plan.
    pub fn moved_by(&self) -> Option<i64> {
        let [again, lowest, highest] = self.again;
        Again::agreed(again, lowest, highest)
    }

    /// Whether no byte is given twice: ranges do not meet, or the pieces tile the whole range. None where nobody can tell.
    pub fn are_disjoint(&self, tiling: Tiling) -> Option<bool> {
        if self.all.bytes == 0 || self.tiles == Some(tiling.piece(self.all.start, self.all.end)) {
            return Some(true);
        }
        // Ranges that interleave say nothing of the pieces in them: these may overlap.
        self.ranges.are_apart()
    }

    /// Takes in what others bring.
    pub fn merge(&mut self, other: Self) {
        self.failed = self.failed.min(other.failed);
        self.all.add(&other.all);
        self.left.add(&other.left);
        let [again, lowest, highest] = other.again;
        self.again = [self.again[0].min(again), self.again[1].min(lowest), self.again[2].max(highest)];
        self.limit = self.limit.min(other.limit);
        self.tiles = self.tiles.zip(other.tiles).map(|(own, other)| own.wrapping_add(other));
        self.moved = self.moved.saturating_add(other.moved);
        self.micros = self.micros.max(other.micros);
        self.ranges.merge(other.ranges);
        self.data.merge(other.data);
    }

    /// Everything, on its way to others.
    pub fn body(&self) -> Vec<u8> {
        let mut lanes = vec![self.failed];
        lanes.extend(self.all.lanes());
        lanes.extend(self.left.lanes());
        lanes.extend(self.again);
        lanes.extend([self.limit, u64::from(self.tiles.is_some()), self.tiles.unwrap_or_default()]);
        lanes.extend([self.moved, self.micros]);
        self.ranges.put(&mut lanes);
        lanes.push(self.data.len());
        let mut body: Vec<u8> = lanes.iter().flat_map(|lane| lane.to_le_bytes()).collect();
        body.extend_from_slice(self.data.bytes());
        body
    }

    /// What others have sent.
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
        let [limit, is_tiled, tiles, moved, micros] = [(); 5].map(|()| next());
        let ranges = Ranges::get(&mut std::iter::from_fn(|| Some(next())));
        let len = next();
        let data = Blocks::from(body.get(8 * read..).unwrap_or_default(), len);
        let tiles = (is_tiled != 0).then_some(tiles);
        Self { failed, all, left, again, limit, tiles, moved, micros, ranges, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_gives_back_what_was_brought() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let mut one = Brought::new(&file, Again::Moved(-70), Some(Tiling::of(5)));
        assert_eq!(Brought::from(&one.body()), one);
        one.served(90, 12);
        one.fail(3);
        one.limit = 1000;
        assert_eq!(Brought::from(&one.body()), one);
        let mut none = Brought::new(&Extents::empty(), Again::Nothing, None);
        assert_eq!(Brought::from(&none.body()), none);
        none.merge(one.clone());
        assert_eq!((none.failed(), none.moved_by(), none.all, none.left), (Some(3), Some(-70), one.all, Amount::NONE));
    }

    #[test]
    fn pieces_that_tile_and_ranges_that_are_apart_are_disjoint() {
        let tiling = Tiling::of(11);
        let all = |files: &[Extents], look: bool| {
            let look = look.then_some(tiling);
            let mut all = Brought::new(&Extents::empty(), Again::No, Some(tiling));
            files.iter().for_each(|file| all.merge(Brought::new(file, Again::No, look)));
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
