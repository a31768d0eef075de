//! An index of one rank's extents by file offset, with their positions in its buffer.

use tributary::Extent;

use crate::error::PatternError;

/// A rank's extents sorted by file offset, with their positions in the rank's buffer. Extents may overlap.
pub(crate) struct ExtentIndex {
    /// Extents with their positions in the buffer (in bytes), in the order of ascending offsets.
    extents: Vec<(Extent, usize)>,
    /// Highest end of each extent and all extents before it, in bytes.
    ends: Vec<u64>,
}

impl ExtentIndex {
    /// Builds the index of a list. O(extents log extents).
    ///
    /// # Errors
    /// The errors of the list.
    pub fn from_extents(list: impl Iterator<Item = Result<Extent, PatternError>>) -> Result<Self, PatternError> {
        let mut extents = Vec::new();
        let mut at = 0;
        for extent in list {
            let extent = extent?;
            extents.push((extent, at));
            at += extent.len as usize;
        }
        extents.sort_by_key(|(extent, _)| extent.offset);
        let highest = |end: &mut u64, (extent, _): &(Extent, usize)| {
            *end = extent.end().max(*end);
            Some(*end)
        };
        let ends = extents.iter().scan(0, highest).collect();
        Ok(Self { extents, ends })
    }

    /// Calls `part` with every part of `wanted` that is in the index, and the part's position in the buffer.
    pub fn within(&self, wanted: Extent, mut part: impl FnMut(Extent, usize)) {
        let behind = self.extents.partition_point(|(extent, _)| extent.offset < wanted.end());
        for index in (0..behind).rev().take_while(|&index| self.ends[index] > wanted.offset) {
            let (extent, at) = self.extents[index];
            let (from, to) = (extent.offset.max(wanted.offset), extent.end().min(wanted.end()));
            if from < to {
                part(Extent { offset: from, len: to - from }, at + (from - extent.offset) as usize);
            }
        }
    }
}
