//! Parts of sequences of extents. A file view, as MPI defines it (MPI 4.1, section 14.3), gives the bytes of the file that a
//! rank sees; a slice gives the part of a sequence that a call on the view selects.
//!
//! A slice of a regular sequence is computed from its nodes, without a walk over its extents. The nodes also show if a
//! sequence equals another one shifted by some bytes. (A time step is often the step before, shifted towards the end of
//! the file.)

use super::Extent;
use super::extents::{Base, Extents, Level, ListNode};
use super::packed::Packer;
use crate::error::{Error, Result};

/// A file view: a tile of extents (MPI's filetype), repeated without end from a displacement on. Byte n of the view
/// is byte n of the tiles' data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileView {
    displacement: u64,
    tile: Extents,
    extent: u64,
}

impl FileView {
    /// Returns the view of the whole file, from byte 0 on.
    pub fn all() -> Self {
        Self { displacement: 0, tile: Extents::contiguous(0, 1).unwrap_or_default(), extent: 1 }
    }

    /// Creates the view that repeats `tile` every `extent` bytes, from byte `displacement` of the file on. Local,
    /// O(1).
    ///
    /// # Errors
    /// `extent` is 0, or `tile` is empty.
    pub fn new(displacement: u64, tile: Extents, extent: u64) -> Result<Self> {
        if extent == 0 || tile.count() == 0 {
            let given = format!("{} bytes in an extent of {extent}", tile.bytes());
            return Err(Error::argument("file view", given, "a tile with data and an extent above 0"));
        }
        Ok(Self { displacement, tile, extent })
    }

    /// Returns true if the view is contiguous: each tile is one extent, and tiles are adjacent.
    pub fn is_one_run(&self) -> bool {
        self.tile.count() == 1 && self.tile.bytes() == self.extent
    }

    /// Returns the extents of the `len` bytes of the view that follow its first `skip` bytes. Whole tiles stay one strided
    /// repetition, so a view of a subarray costs O(dimensions) for any number of tiles. A tile that is cut costs what
    /// [`Extents::slice`] does.
    ///
    /// # Errors
    /// The extents reach beyond 2^63 - 1.
    pub fn select(&self, skip: u64, len: u64) -> Result<Extents> {
        let per_tile = self.tile.bytes();
        let (mut at, end) = (skip, skip.checked_add(len).ok_or_else(|| Error::argument("view", len, "< 2^63"))?);
        if let (Some((start, _)), true) = (self.tile.span(), self.is_one_run()) {
            let start = skip.checked_add(start).and_then(|start| start.checked_add(self.displacement));
            return Extents::contiguous(start.ok_or_else(|| Error::argument("view offset", skip, "< 2^63"))?, len);
        }
        let mut all = Extents::empty();
        while at < end {
            let (tile, within) = (at / per_tile, at % per_tile);
            let whole = if within == 0 { (end - at) / per_tile } else { 0 };
            let (part, taken) = if whole > 0 {
                let stride =
                    i64::try_from(self.extent).map_err(|_| Error::argument("extent", self.extent, "< 2^63"))?;
                (self.tile.repeat(stride, whole)?, whole * per_tile)
            } else {
                let taken = (per_tile - within).min(end - at);
                (self.tile.slice(within, taken), taken)
            };
            let shift = tile.checked_mul(self.extent).and_then(|s| s.checked_add(self.displacement));
            all.push(&part.shift(shift.ok_or_else(|| Error::argument("view offset", skip, "< 2^63"))?)?)?;
            at += taken;
        }
        Ok(all)
    }

    /// Returns the number of bytes of the view that lie before its first byte at or after byte `end` of the file.
    /// O(extents of a tile).
    pub fn bytes_before(&self, end: u64) -> u64 {
        let Some((_, span)) = self.tile.span() else { return 0 };
        // A number of first tiles that all lie before byte `end`.
        let mut tiles = end.saturating_sub(self.displacement.saturating_add(span)) / self.extent;
        loop {
            let shift = self.displacement.saturating_add(tiles.saturating_mul(self.extent));
            let mut bytes = tiles.saturating_mul(self.tile.bytes());
            for extent in self.tile.iter() {
                if shift.saturating_add(extent.end()) > end {
                    return bytes + end.saturating_sub(shift.saturating_add(extent.offset));
                }
                bytes += extent.len;
            }
            tiles += 1;
        }
    }
}

impl Extents {
    /// Returns the extents of the `len` bytes of data after the first `skip` bytes of the sequence, or of fewer bytes if the
    /// sequence ends before. A sequence of strided runs gives strided runs, in O(nodes and their levels). Any other sequence
    /// is packed: O(extents before the end of the part).
    pub fn slice(&self, skip: u64, len: u64) -> Self {
        if skip == 0 && len >= self.bytes() {
            return self.clone();
        }
        // A part of the sequence is within the bounds that the sequence was checked for, so no error is lost here.
        self.slice_of_runs(skip, len).and_then(Result::ok).unwrap_or_else(|| self.slice_of_extents(skip, len))
    }

    /// Computes what [`Extents::slice`] returns by arithmetic on the nodes; `None` if a node is a list or a group.
    fn slice_of_runs(&self, skip: u64, len: u64) -> Option<Result<Self>> {
        let is_run = |node: &ListNode| matches!(node.base, Base::One(_));
        self.nodes.iter().all(is_run).then(|| {
            let (mut before, mut left) = (skip, len);
            let mut all = Self::empty();
            for node in &self.nodes {
                let Base::One(extent) = node.base else { continue };
                let bytes = bytes_of(extent, &node.levels);
                let taken = bytes.saturating_sub(before).min(left);
                if taken > 0 {
                    push_part(&mut all, extent, &node.levels, before, taken)?;
                }
                before = before.saturating_sub(bytes);
                left -= taken;
            }
            Ok(all)
        })
    }

    fn slice_of_extents(&self, skip: u64, len: u64) -> Self {
        let (mut before, mut left) = (skip, len);
        let mut packer = Packer::default();
        let mut last_end = 0;
        for mut extent in self.iter() {
            if before >= extent.len {
                before -= extent.len;
                continue;
            }
            extent = Extent { offset: extent.offset + before, len: (extent.len - before).min(left) };
            before = 0;
            if left == 0 {
                break;
            }
            left -= extent.len;
            last_end = extent.end();
            packer.push(extent);
        }
        Self::from_packed(packer.finish(), last_end)
    }
}

/// Returns the number of bytes of data of an extent that is repeated along levels.
fn bytes_of(extent: Extent, levels: &[Level]) -> u64 {
    extent.len * levels.iter().map(|level| level.count).product::<u64>()
}

/// Appends a part of an extent that is repeated along levels: `len` bytes of its data after the first `skip` bytes.
fn push_part(all: &mut Extents, extent: Extent, levels: &[Level], skip: u64, len: u64) -> Result<()> {
    let Some((outer, inner)) = levels.split_first() else {
        return all.push(&Extents::contiguous(extent.offset + skip, len)?);
    };
    let copy = bytes_of(extent, inner);
    let (mut at, end) = (skip, skip + len);
    while at < end {
        let (number, within) = (at / copy, at % copy);
        let offset = extent.offset.wrapping_add((outer.stride * number as i64) as u64);
        let moved = Extent { offset, len: extent.len };
        let whole = if within == 0 { (end - at) / copy } else { 0 };
        let taken = if whole > 0 { whole * copy } else { (copy - within).min(end - at) };
        if whole > 0 {
            let one = Extents::contiguous(moved.offset, moved.len)?;
            let one = inner.iter().rev().try_fold(one, |all, level| all.repeat(level.stride, level.count))?;
            all.push(&one.repeat(outer.stride, whole)?)?;
        } else {
            push_part(all, moved, inner, within, taken)?;
        }
        at += taken;
    }
    Ok(())
}

impl Extents {
    /// Returns the number of bytes by which every extent of this sequence is shifted against `before` (negative:
    /// towards the start of the file). `None` if the sequences differ in more than such a shift. O(encoded size) if
    /// both were built in the same way, O(extents) otherwise.
    pub fn shift_from(&self, before: &Self) -> Option<i64> {
        let (now, then) = (&self.summary, &before.summary);
        let by = now.start.wrapping_sub(then.start) as i64;
        let is_alike = (now.count, now.bytes, now.ascending) == (then.count, then.bytes, then.ascending)
            && now.end.wrapping_sub(then.end) as i64 == by;
        if !is_alike {
            return None;
        }
        if now.count == 0 {
            return Some(0);
        }
        let is_made_alike = self.nodes.len() == before.nodes.len()
            && self.nodes.iter().zip(&before.nodes).all(|(own, other)| is_shifted(own, other, by));
        let is_shifted = is_made_alike
            || self
                .iter()
                .zip(before.iter())
                .all(|(own, other)| own.len == other.len && own.offset == other.offset.wrapping_add(by as u64));
        is_shifted.then_some(by)
    }
}

/// Returns true if node `own` is node `other` shifted by `by` bytes. May return false for equal extents that are
/// stored in different ways.
fn is_shifted(own: &ListNode, other: &ListNode, by: i64) -> bool {
    own.levels == other.levels
        && match (&own.base, &other.base) {
            (Base::One(own), Base::One(other)) => {
                own.len == other.len && own.offset == other.offset.wrapping_add(by as u64)
            }
            (Base::List(own, at), Base::List(other, from)) => at.wrapping_sub(*from) == by && own == other,
            (Base::Plain(own, at), Base::Plain(other, from)) => at.wrapping_sub(*from) == by && own == other,
            (Base::Group(own, at), Base::Group(other, from)) => at.wrapping_sub(*from) == by && own == other,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Extent;
    use crate::access::extents::tests::check_summary;

    #[test]
    fn a_view_is_its_bytes() {
        let view = FileView::new(17, Extents::strided(2, 3, 5, 2).unwrap(), 12).unwrap();
        let byte = |n: u64| 17 + n / 6 * 12 + [2, 3, 4, 7, 8, 9][(n % 6) as usize];
        for skip in 0..14 {
            for len in 0..30 {
                let got: Vec<u64> = view.select(skip, len).unwrap().iter().flat_map(|e| e.offset..e.end()).collect();
                assert_eq!(got, (skip..skip + len).map(byte).collect::<Vec<_>>(), "skip {skip} len {len}");
            }
        }
    }

    #[test]
    fn the_end_of_a_file_has_its_place() {
        for (tile, extent) in [(Extents::strided(2, 3, 5, 2).unwrap(), 12), (Extents::strided(1, 2, 4, 3).unwrap(), 5)]
        {
            let view = FileView::new(17, tile, extent).unwrap();
            let bytes: Vec<u64> = view.select(0, 200).unwrap().iter().flat_map(|e| e.offset..e.end()).collect();
            for end in 0..150 {
                let expected = bytes.iter().position(|&byte| byte >= end).unwrap();
                assert_eq!(view.bytes_before(end), expected as u64, "extent {extent}, end {end}");
            }
        }
        assert_eq!(FileView::all().bytes_before(1 << 40), 1 << 40);
    }

    #[test]
    fn many_whole_tiles_cost_nothing() {
        let view = FileView::new(0, Extents::strided(0, 8, 64, 4).unwrap(), 1 << 20).unwrap();
        let all = view.select(0, 32 << 20).unwrap();
        assert_eq!(all.count(), 4 << 20);
        assert!(all.memory() < 512);
        assert_eq!(FileView::all().select(5, 7).unwrap(), Extents::contiguous(5, 7).unwrap());
    }

    fn check_slice(all: &Extents, skip: u64, len: u64) {
        let bytes = |extents: &Extents| extents.iter().flat_map(|e| e.offset..e.end()).collect::<Vec<_>>();
        let expected: Vec<u64> = bytes(all).into_iter().skip(skip as usize).take(len as usize).collect();
        let part = all.slice(skip, len);
        assert_eq!(bytes(&part), expected, "{len} bytes from {skip} on of {all:?}");
        check_summary(&part);
    }

    #[test]
    fn a_slice_of_a_run_is_runs() {
        let all = Extents::strided(0, 8, 64, 1 << 40).unwrap().repeat(1 << 50, 8).unwrap();
        let part = all.slice(8 * (1 << 39) + 3, 8 * (1 << 40));
        assert_eq!(part.bytes(), 8 * (1 << 40));
        assert!(part.nodes.len() <= 6, "{part:?}");
    }

    proptest! {
        #[test]
        fn a_slice_is_the_bytes_of_the_slice(
            items in prop::collection::vec((0u64..1000, 1u64..5, -60i64..60, 1u64..4, -300i64..300, 1u64..4), 1..4),
            listed: bool, skip in 0u64..60, len in 0u64..60,
        ) {
            let mut all = Extents::empty();
            for (offset, len, stride, count, outer, copies) in items {
                let run = Extents::strided(offset + 2000, len, stride, count).unwrap();
                all.push(&run.repeat(outer, copies).unwrap()).unwrap();
            }
            if listed {
                all = Extents::from_list(all.iter()).unwrap();
            }
            check_slice(&all, skip, len);
        }
    }

    proptest! {
        #[test]
        fn a_shift_is_found(
            list in prop::collection::vec((0u64..500, 1u64..9), 0..12), by in 0u64..300, listed: bool, other in 0usize..12,
        ) {
            let extents = |by: u64| list.iter().map(move |&(offset, len)| Extent { offset: offset + by, len });
            let before = Extents::from_list(extents(0)).unwrap();
            // Built from other offsets, or shifted as a whole.
            let after = if listed { Extents::from_list(extents(by)).unwrap() } else { before.clone().shift(by).unwrap() };
            let due = if list.is_empty() { 0 } else { by as i64 };
            prop_assert_eq!(after.shift_from(&before), Some(due));
            prop_assert_eq!(before.shift_from(&after), Some(-due));
            if let Some(extent) = list.get(other) {
                let mut changed = list.clone();
                changed[other] = (extent.0 + 1, extent.1);
                let changed = Extents::from_list(changed.iter().map(|&(offset, len)| Extent { offset, len })).unwrap();
                prop_assert!(list.len() == 1 || changed.shift_from(&before).is_none());
            }
        }
    }

    #[test]
    fn shifts_of_runs_are_found_without_walking_them() {
        let run = Extents::strided(0, 8, 64, 1 << 40).unwrap();
        assert_eq!(run.clone().shift(72).unwrap().shift_from(&run), Some(72));
        assert_eq!(Extents::strided(0, 8, 72, 4).unwrap().shift_from(&Extents::strided(0, 8, 64, 4).unwrap()), None);
    }
}
