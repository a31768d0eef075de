//! What every rank brings to a call, and what the last to arrive makes of it.

use super::tiling::Tiling;
use crate::access::Extents;
use crate::engine::plan::Direction;
use crate::fabric::shared::{SLOT, Slots};
use crate::hints::{Hints, Overlap, Switch};
use crate::topology::Rank;

/// Numbers of an opening, and of a verdict, in their slots.
pub const LANES: usize = 16;
/// Bytes of a slot that are left for small data.
pub const ROOM: usize = SLOT - 8 * LANES;
/// A rank's pieces, of so many or fewer, are looked at before the call: whether large ones tile the range. What a rank has
/// written by itself is always looked at.
const LOOKED_AT: u64 = 1024;
/// Pieces of this mean size or more are written by their owners, where nothing overlaps: a copy less, and a system call
/// costs what so many bytes cost.
const LARGE: u64 = 16 << 10;
/// The same of a few pieces, where every rank has a core of its own and nobody waits for one.
const LARGE_ALONE: u64 = 4 << 10;
/// So many are a few. They are written by their owners also where they lie so far apart that windows would be mostly empty.
const FEW: u64 = 8;

/// What a rank brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Its arguments are bad, or it has an error already.
    pub failed: bool,
    /// Lowest offset.
    pub start: u64,
    /// Highest end; 0 without data.
    pub end: u64,
    /// Bytes, those that it gave twice once.
    pub bytes: u64,
    /// Bytes and extents, as it gave them.
    pub asked: u64,
    /// Likewise.
    pub count: u64,
    /// Extents as they are written.
    pub pieces: u64,
    /// The data is in the slot, as so many extents; else `u64::MAX`.
    pub inline: u64,
    /// What its pieces add to the tiling, if that is known.
    pub tiles: Option<u64>,
    /// It has read, or written, its own already.
    pub served: bool,
    /// Of one that has: the bytes that were moved.
    pub moved: u64,
}

impl Opening {
    /// A rank's own, without data in it: what it is to do of what it was `asked`.
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
            moved: 0,
        }
    }

    /// Looks at the pieces, if that costs little beside what was or is to be done.
    pub fn with_tiles(mut self, file: &Extents, tiling: Tiling) -> Self {
        if self.pieces <= LOOKED_AT || self.served {
            let add = |sum: u64, piece: crate::Extent| sum.wrapping_add(tiling.piece(piece.offset, piece.end()));
            self.tiles = Some(file.iter().fold(0, add));
        }
        self
    }

    /// Into a slot.
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
            self.moved,
            self.asked,
        ];
        put(slot, &lanes);
    }

    /// From a slot.
    pub fn get(slot: &[u8]) -> Self {
        let [flags, start, end, bytes, count, pieces, inline, tiles, moved, asked, ..] = lanes(slot);
        let tiles = (flags & 4 != 0).then_some(tiles);
        let (failed, served) = (flags & 1 != 0, flags & 2 != 0);
        Self { failed, served, start, end, bytes, asked, count, pieces, inline, tiles, moved }
    }
}

/// Numbers at the start of a slot.
pub fn lanes(slot: &[u8]) -> [u64; LANES] {
    let mut all = [0; LANES];
    for (lane, bytes) in all.iter_mut().zip(slot.chunks_exact(8)) {
        *lane = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    }
    all
}

/// Puts numbers at the start of a slot.
pub fn put(slot: &mut [u8], lanes: &[u64]) {
    slot.chunks_exact_mut(8).zip(lanes).for_each(|(place, lane)| place.copy_from_slice(&lane.to_le_bytes()));
}

/// All openings of a call, summed up.
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
    /// Bytes and extents, as they were given.
    pub asked: u64,
    /// Likewise.
    pub count: u64,
    /// Extents as they are written.
    pub pieces: u64,
    /// The most of any rank.
    pub most_pieces: u64,
    /// Whether all data is in the slots.
    pub inline: bool,
    /// Whether no byte is given twice, for sure.
    pub disjoint: bool,
    /// Whether no rank is left that has something to do.
    pub served: bool,
    /// Bytes that ranks have moved by themselves.
    pub moved: u64,
}

impl Total {
    /// Sums up what is left to do. Of a write where bytes may be given twice, that is everything: what ranks wrote by
    /// themselves is written again, in order. O(ranks log ranks).
    pub fn of(slots: Slots<'_>, direction: Direction, tiling: Tiling) -> Self {
        Self::over((0..slots.ranks()).map(|rank| Opening::get(slots.of(rank))), direction, tiling)
    }

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
            moved: 0,
        };
        for (rank, opening) in openings.enumerate() {
            if opening.failed && all.failed.is_none() {
                all.failed = Some(rank);
            }
            all.count = all.count.saturating_add(opening.count);
            all.asked = all.asked.saturating_add(opening.asked);
            if opening.served && (disjoint || direction == Direction::Read) {
                all.moved = all.moved.saturating_add(opening.moved);
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
    fn mean(&self) -> u64 {
        self.bytes / self.pieces.max(1)
    }

    /// Bytes from the first to the last.
    pub fn span(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Whether no byte is given twice: the ranges of ranks do not meet, whatever their order, or their pieces tile the whole.
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

/// Which way a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// No rank has data.
    Nothing,
    /// Out of the slots, by the last to arrive.
    Slots,
    /// Every rank its own.
    Own,
    /// Through windows in shared memory.
    Windows,
    /// Every rank has done its own.
    CallTotals,
}

/// A way, and why: its number travels.
pub type Choice = usize;

const NOTHING: Choice = 0;
const SMALL: Choice = 1;
const ENABLED: Choice = 2;
const DISABLED: Choice = 3;
const OVERLAP: Choice = 4;
const LARGE_PIECES: Choice = 5;
const FAR_APART: Choice = 6;
const SMALL_PIECES: Choice = 7;
const OWN_ALREADY: Choice = 8;
/// Chosen late, where windows were chosen first.
pub const NO_MEMORY: Choice = 9;

/// Every choice that there is.
pub const CHOICES: [(Way, &str); 10] = [
    (Way::Nothing, "no rank has data"),
    (Way::Slots, "small enough for the slots of a meeting"),
    (Way::Windows, "collective buffering is enabled by hint"),
    (Way::Own, "collective buffering is disabled by hint"),
    (Way::Windows, "ranks may overlap"),
    (Way::Own, "large pieces that do not overlap"),
    (Way::Own, "few pieces far apart"),
    (Way::Windows, "small pieces"),
    (Way::CallTotals, "every rank its own, large pieces that do not overlap"),
    (Way::Own, "no memory for windows"),
];

/// How many bytes of windows a byte of data may cost where every rank could do its own pieces.
const SPARSE: u64 = 64;

/// The mean size from which pieces are moved by their owners: by what a system call costs, or where the file system locks
/// larger units (`unit` above 1), by the hint.
fn large(hints: &Hints, unit: u64) -> u64 {
    if unit > 1 { hints.direct_min } else { hints.direct_min.min(LARGE) }
}

/// Whether a rank writes such pieces before it meets the others. `alone`: every rank has a core of its own.
pub fn is_early(file: &Extents, hints: &Hints, unit: u64, alone: bool) -> bool {
    let large =
        if alone && unit == 1 && file.count() <= FEW { hints.direct_min.min(LARGE_ALONE) } else { large(hints, unit) };
    file.count() > 0 && file.bytes() / file.count() >= large
}

/// Chooses the way of a call. Pure.
pub fn choose(total: &Total, direction: Direction, hints: &Hints, unit: u64) -> Choice {
    let switch = match direction {
        Direction::Write => hints.cb_write,
        Direction::Read => hints.cb_read,
    };
    if total.served && total.moved > 0 {
        return OWN_ALREADY;
    }
    if total.bytes == 0 || total.start >= total.end {
        return NOTHING;
    }
    if total.inline && direction == Direction::Write && switch != Switch::Disable {
        return SMALL;
    }
    let sparse = total.span() / total.bytes.max(1) >= SPARSE;
    let in_order = direction == Direction::Write && hints.overlap == Overlap::RankOrder && !total.disjoint;
    match switch {
        Switch::Enable => ENABLED,
        Switch::Disable if in_order => OVERLAP,
        Switch::Disable => DISABLED,
        Switch::Automatic if !total.disjoint && direction == Direction::Write => OVERLAP,
        Switch::Automatic if total.mean() >= large(hints, unit) => LARGE_PIECES,
        Switch::Automatic if total.most_pieces <= FEW && sparse => FAR_APART,
        Switch::Automatic => SMALL_PIECES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(file: &Extents, tiling: Tiling) -> Opening {
        Opening::new(file, file, false).with_tiles(file, tiling)
    }

    fn way(files: &[Extents]) -> Way {
        let tiling = Tiling::of(99);
        let openings: Vec<_> = files.iter().map(|file| opening(file, tiling)).collect();
        let total = Total::over(openings.iter().copied(), Direction::Write, tiling);
        CHOICES[choose(&total, Direction::Write, &Hints::default(), 1)].0
    }

    #[test]
    fn a_slot_gives_back_what_was_put() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let own = Opening { inline: 4, moved: 3, ..opening(&file, Tiling::of(1)) };
        let mut slot = vec![0u8; SLOT];
        own.put(&mut slot);
        assert_eq!(Opening::get(&slot), own);
        let other = Opening { failed: true, served: true, tiles: None, ..own };
        other.put(&mut slot);
        assert_eq!(Opening::get(&slot), other);
    }

    #[test]
    fn large_pieces_are_their_owners_where_none_overlap() {
        let strided = |rank: u64, len: u64| Extents::strided(rank * len, len, 4 * len as i64, 8).unwrap();
        let all = |len| (0..4).map(|rank| strided(rank, len)).collect::<Vec<_>>();
        assert_eq!(way(&all(64 << 10)), Way::Own, "interleaved, and tiled");
        assert_eq!(way(&all(64)), Way::Windows);
        let mut overlapping = all(64 << 10);
        overlapping[2] = strided(1, 64 << 10);
        assert_eq!(way(&overlapping), Way::Windows);
        let block = |at: u64| Extents::contiguous(at, 1 << 20).unwrap();
        assert_eq!(way(&[block(5 << 20), block(0), block(9 << 20)]), Way::Own, "apart, in any order");
        assert_eq!(way(&[block(0), block(1 << 19)]), Way::Windows);
        assert_eq!(way(&[Extents::empty(), Extents::empty()]), Way::Nothing);
    }
}
