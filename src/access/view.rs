//! A file view: the bytes of the file that a rank sees, as MPI defines it (MPI 4.1, section 14.3).

use super::extents::Extents;
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

    /// Returns the extents of the `len` bytes of the view that follow its first `skip` bytes. Whole tiles stay a run,
    /// so a view of a subarray costs O(dimensions) for any number of tiles. A tile that is cut costs what
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

    /// Returns the number of bytes of the view that lie before its first byte at or behind byte `end` of the file.
    /// O(extents of a tile).
    pub fn bytes_before(&self, end: u64) -> u64 {
        let Some((_, span)) = self.tile.span() else { return 0 };
        // Tiles that are wholly before that byte.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
