//! The first meeting of a call: the contribution of every rank, and the decision of the last to arrive.

use super::tiling::Tiling;
use crate::access::Extents;
use crate::engine::plan::Direction;
use crate::engine::policy::MAX_CHECKED_PIECES;
use crate::fabric::shared::{SLOT, Slots};
use crate::topology::Rank;

/// Number of integers at the start of a slot, and of a verdict.
pub const LANES: usize = 16;
/// Bytes of a slot for small data.
pub const ROOM: usize = SLOT - 8 * LANES;

/// The contribution of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Whether the rank has an error.
    pub failed: bool,
    /// Lowest offset.
    pub start: u64,
    /// Highest end; 0 without data.
    pub end: u64,
    /// Bytes left to write or read; bytes that the rank has twice count once.
    pub bytes: u64,
    /// Bytes of the access, as the rank passed it.
    pub asked: u64,
    /// Extents of the access, as the rank passed it.
    pub count: u64,
    /// Extents left to write or read.
    pub pieces: u64,
    /// Number of extents, if the data is in the slot; otherwise `u64::MAX`.
    pub inline: u64,
    /// The sum of the pieces' hashes ([`Tiling`]), if it is known.
    pub tiles: Option<u64>,
    /// Whether the rank has written or read its bytes directly.
    pub served: bool,
    /// The bytes written or read directly.
    pub transferred: u64,
}

impl Opening {
    /// The contribution of a rank that has `file` left to do of the access `asked`, without data.
    pub fn new(file: &Extents, asked: &Extents, failed: bool) -> Self {
        let (start, end) = file.span().unwrap_or((u64::MAX, 0));
        Self {
            failed,
            start,
            end,
            bytes: file.bytes(),
            asked: asked.bytes(),
            count: asked.count(),
            pieces: file.count(),
            inline: u64::MAX,
            tiles: None,
            served: false,
            transferred: 0,
        }
    }

    /// Adds the sum of the pieces' hashes, if that is cheap compared with the call.
    pub fn with_tiles(mut self, file: &Extents, tiling: Tiling) -> Self {
        if self.pieces <= MAX_CHECKED_PIECES || self.served {
            let add = |sum: u64, piece: crate::Extent| sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
            self.tiles = Some(file.iter().fold(0, add));
        }
        self
    }

    /// Writes the contribution to a slot.
    pub fn put(&self, slot: &mut [u8]) {
        let flags = u64::from(self.failed) | u64::from(self.served) << 1 | u64::from(self.tiles.is_some()) << 2;
        let lanes = [
            flags,
            self.start,
            self.end,
            self.bytes,
            self.count,
            self.pieces,
            self.inline,
            self.tiles.unwrap_or_default(),
            self.transferred,
            self.asked,
        ];
        put(slot, &lanes);
    }

    /// Reads a contribution from a slot.
    pub fn get(slot: &[u8]) -> Self {
        let [flags, start, end, bytes, count, pieces, inline, tiles, transferred, asked, ..] = lanes(slot);
        let tiles = (flags & 4 != 0).then_some(tiles);
        let (failed, served) = (flags & 1 != 0, flags & 2 != 0);
        Self { failed, served, start, end, bytes, asked, count, pieces, inline, tiles, transferred }
    }
}

/// The integers at the start of a slot.
pub fn lanes(slot: &[u8]) -> [u64; LANES] {
    let mut all = [0; LANES];
    for (lane, bytes) in all.iter_mut().zip(slot.chunks_exact(8)) {
        *lane = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    all
}

/// Writes integers to the start of a slot.
pub fn put(slot: &mut [u8], lanes: &[u64]) {
    slot.chunks_exact_mut(8).zip(lanes).for_each(|(place, lane)| place.copy_from_slice(&lane.to_le_bytes()));
}

/// The contributions of all ranks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// The lowest rank with an error.
    pub failed: Option<Rank>,
    /// Lowest offset.
    pub start: u64,
    /// Highest end.
    pub end: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes of the accesses, as the ranks passed them.
    pub asked: u64,
    /// Extents of the accesses, as the ranks passed them.
    pub count: u64,
    /// Extents left to write or read.
    pub pieces: u64,
    /// Most pieces of any rank.
    pub most_pieces: u64,
    /// Whether all data is in the slots.
    pub inline: bool,
    /// Whether certainly no two ranks have the same byte.
    pub disjoint: bool,
    /// Whether no rank has anything left to do.
    pub served: bool,
    /// Bytes that ranks have written or read directly.
    pub transferred: u64,
}

impl Total {
    /// Sums up what is left to do. In a write in which ranks may overlap, that is everything: bytes that ranks wrote directly
    /// are written again, in order. O(ranks log ranks).
    pub fn of(slots: Slots<'_>, direction: Direction, tiling: Tiling) -> Self {
        let openings = (0..slots.ranks()).map(|place| Opening::get(slots.of(place)));
        let all = Self::over(openings, direction, tiling);
        Self { failed: all.failed.map(|place| slots.rank(place)), ..all }
    }

    /// As [`Total::of`]; who failed is numbered in the order of `openings`.
    fn over(openings: impl Iterator<Item = Opening> + Clone, direction: Direction, tiling: Tiling) -> Self {
        let disjoint = are_disjoint(openings.clone().filter(|opening| opening.bytes > 0), tiling);
        let mut all = Self {
            failed: None,
            start: u64::MAX,
            end: 0,
            bytes: 0,
            asked: 0,
            count: 0,
            pieces: 0,
            most_pieces: 0,
            inline: true,
            disjoint,
            served: true,
            transferred: 0,
        };
        for (rank, opening) in openings.enumerate() {
            if opening.failed && all.failed.is_none() {
                all.failed = Some(rank);
            }
            all.count = all.count.saturating_add(opening.count);
            all.asked = all.asked.saturating_add(opening.asked);
            if opening.served && (disjoint || direction == Direction::Read) {
                all.transferred = all.transferred.saturating_add(opening.transferred);
                continue;
            }
            if opening.bytes > 0 {
                all.add(&opening);
            }
        }
        all
    }

    fn add(&mut self, opening: &Opening) {
        self.served = false;
        self.bytes = self.bytes.saturating_add(opening.bytes);
        self.start = self.start.min(opening.start);
        self.end = self.end.max(opening.end);
        self.pieces = self.pieces.saturating_add(opening.pieces);
        self.most_pieces = self.most_pieces.max(opening.pieces);
        self.inline &= opening.inline != u64::MAX;
    }

    /// The mean size of a piece.
    pub fn mean(&self) -> u64 {
        self.bytes / self.pieces.max(1)
    }

    /// The length of the range.
    pub fn span(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Whether no two ranks have the same byte: their ranges do not overlap, in any order, or their pieces tile the whole range.
fn are_disjoint(openings: impl Iterator<Item = Opening> + Clone, tiling: Tiling) -> bool {
    let (mut tiles, mut ascends, mut start, mut end) = (Some(0u64), true, u64::MAX, 0);
    for opening in openings.clone() {
        ascends &= opening.start >= end;
        (start, end) = (start.min(opening.start), end.max(opening.end));
        tiles = tiles.zip(opening.tiles).map(|(sum, own)| sum.wrapping_add(own));
    }
    if ascends || tiles.is_some_and(|sum| sum == tiling.piece(start, end)) {
        return true;
    }
    let mut ranges: smallvec::SmallVec<[(u64, u64); 64]> =
        openings.map(|opening| (opening.start, opening.end)).collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::paths::{Rules, Way};
    use crate::hints::Hints;

    fn opening(file: &Extents, tiling: Tiling) -> Opening {
        Opening::new(file, file, false).with_tiles(file, tiling)
    }

    fn way(files: &[Extents]) -> Way {
        let tiling = Tiling::of(99);
        let openings: Vec<_> = files.iter().map(|file| opening(file, tiling)).collect();
        let total = Total::over(openings.iter().copied(), Direction::Write, tiling);
        Rules { hints: &Hints::default(), unit: 1, direction: Direction::Write }.in_memory(&total).0
    }

    #[test]
    fn a_contribution_survives_its_slot() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let own = Opening { inline: 4, transferred: 3, ..opening(&file, Tiling::of(1)) };
        let mut slot = vec![0u8; SLOT];
        own.put(&mut slot);
        assert_eq!(Opening::get(&slot), own);
        let other = Opening { failed: true, served: true, tiles: None, ..own };
        other.put(&mut slot);
        assert_eq!(Opening::get(&slot), other);
    }

    #[test]
    fn large_pieces_without_overlaps_are_written_directly() {
        let strided = |rank: u64, len: u64| Extents::strided(rank * len, len, 4 * len as i64, 8).unwrap();
        let all = |len| (0..4).map(|rank| strided(rank, len)).collect::<Vec<_>>();
        assert_eq!(way(&all(64 << 10)), Way::Direct, "interleaved, and tiled");
        assert_eq!(way(&all(64)), Way::Windows);
        let mut overlapping = all(64 << 10);
        overlapping[2] = strided(1, 64 << 10);
        assert_eq!(way(&overlapping), Way::Windows);
        let block = |at: u64| Extents::contiguous(at, 1 << 20).unwrap();
        assert_eq!(way(&[block(5 << 20), block(0), block(9 << 20)]), Way::Direct, "apart, in any order");
        assert_eq!(way(&[block(0), block(1 << 19)]), Way::Windows);
        assert_eq!(way(&[Extents::empty(), Extents::empty()]), Way::Nothing);
    }
}
