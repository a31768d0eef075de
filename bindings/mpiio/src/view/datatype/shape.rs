//! The bytes of a datatype in order, relative to an address that may lie anywhere among them.

use tributary::{Error, Extent, Extents};

/// The shape of a datatype: extents in typemap order, and the displacement of the lowest byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Displacement of the lowest byte, in bytes from the address; 0 if there are no bytes.
    low: i64,
    /// Extents of the bytes in typemap order; the lowest byte has offset 0.
    extents: Extents,
}

impl Shape {
    /// Returns a shape of one contiguous run: `len` bytes from displacement `low`.
    ///
    /// # Errors
    /// The run ends beyond 2^63 - 1.
    pub fn contiguous(low: i64, len: u64) -> Result<Self, Error> {
        Ok(if len == 0 { Self::default() } else { Self { low, extents: Extents::contiguous(0, len)? } })
    }

    /// Returns a shape of several runs. Each item of `runs` is a displacement in bytes and a length in units of
    /// `unit` bytes. Costs a few nanoseconds for each run.
    ///
    /// # Errors
    /// The bytes lie more than 2^63 - 1 apart.
    pub fn runs(unit: i64, runs: impl Iterator<Item = (i64, i64)> + Clone) -> Result<Self, Error> {
        let (mut low, mut high, mut longest) = (i64::MAX, i64::MIN, 0);
        for (at, length) in runs.clone() {
            longest = longest.max(length);
            if length > 0 {
                (low, high) = (low.min(at), high.max(at));
            }
        }
        if longest == 0 {
            return Ok(Self::default());
        }
        apart(low, high)?;
        if longest > i64::MAX / unit {
            return Err(too_far());
        }
        // Runs of length 0 may lie anywhere and are dropped.
        let extent = |(at, length): (i64, i64)| match length {
            1.. => Extent { offset: at.abs_diff(low), len: (length * unit) as u64 },
            _ => Extent { offset: 0, len: 0 },
        };
        Ok(Self { low, extents: Extents::from_extents(runs.map(extent))? })
    }

    /// Returns the number of bytes of this shape, if copies of the shape `extent` bytes apart form one contiguous run
    /// from the address of the first copy on; None otherwise.
    pub fn tile(&self, extent: i64) -> Option<i64> {
        let is_one = self.low == 0 && self.extents.count() == 1;
        (is_one && extent > 0 && self.extents.bytes() == extent as u64).then_some(extent)
    }

    /// Returns the displacement of the lowest byte, in bytes from the address.
    pub fn low(&self) -> i64 {
        self.low
    }

    /// Returns the extents of the bytes in typemap order; the lowest byte has offset 0.
    pub fn extents(&self) -> &Extents {
        &self.extents
    }

    /// Returns this shape moved by `by` bytes.
    ///
    /// # Errors
    /// A displacement does not fit 64 bits.
    pub fn shift(mut self, by: i64) -> Result<Self, Error> {
        if self.extents.count() > 0 {
            self.low = self.low.checked_add(by).ok_or_else(too_far)?;
        }
        Ok(self)
    }

    /// Returns `count` copies of this shape, each `stride` bytes after the copy before; `stride` may be negative.
    /// O(1).
    ///
    /// # Errors
    /// The bytes reach beyond 2^63 - 1.
    pub fn repeat(&self, stride: i64, count: u64) -> Result<Self, Error> {
        if count == 0 || self.extents.count() == 0 {
            return Ok(Self::default());
        }
        let back = back(stride, count)?;
        let extents = self.extents.clone().shift(back.unsigned_abs())?.repeat(stride, count)?;
        Ok(Self { low: self.low.checked_add(back).ok_or_else(too_far)?, extents })
    }

    /// Returns blocks of copies of this shape. Each item of `blocks` is a displacement and a number of copies, which
    /// lie `stride` bytes apart. O(blocks), whatever the number of extents.
    ///
    /// # Errors
    /// Bytes that are more than 2^63 - 1 apart.
    pub fn blocks(&self, stride: i64, blocks: impl Iterator<Item = (i64, u64)> + Clone) -> Result<Self, Error> {
        let filled = blocks.filter(|&(_, count)| count > 0 && self.extents.count() > 0);
        let mut base: Option<i64> = None;
        for (displacement, count) in filled.clone() {
            let lowest = displacement.checked_add(back(stride, count)?).ok_or_else(too_far)?;
            apart(lowest, displacement)?;
            base = Some(base.map_or(lowest, |base| base.min(lowest)));
        }
        let Some(base) = base else {
            return Ok(Self::default());
        };
        if filled.clone().any(|(displacement, _)| apart(base, displacement).is_err()) {
            return Err(too_far());
        }
        let places = filled.map(|(displacement, count)| (displacement.abs_diff(base), count));
        let low = self.low.checked_add(base).ok_or_else(too_far)?;
        Ok(Self { low, extents: self.extents.scatter(stride, places)? })
    }

    /// Joins blocks of different shapes, one after the other. O(blocks), whatever the number of extents.
    ///
    /// # Errors
    /// Bytes that are more than 2^63 - 1 apart.
    pub fn concat<'a>(blocks: impl Iterator<Item = ShapeCopies<'a>> + Clone) -> Result<Self, Error> {
        let filled = blocks.filter(|block| block.count > 0 && block.shape.extents.count() > 0);
        let mut low: Option<i64> = None;
        for block in filled.clone() {
            let lowest = block.low()?;
            low = Some(low.map_or(lowest, |low| low.min(lowest)));
        }
        let Some(low) = low else {
            return Ok(Self::default());
        };
        let parts = filled.map(|block| {
            let Self { low: at, extents } = block.shape.repeat(block.stride, block.count)?.shift(block.displacement)?;
            extents.shift(apart(low, at)?)
        });
        Ok(Self { low, extents: Extents::concat(parts)? })
    }
}

/// A block of several copies of a shape, at equal distances.
#[derive(Debug, Clone, Copy)]
pub struct ShapeCopies<'a> {
    /// The shape that is copied.
    pub shape: &'a Shape,
    /// Number of bytes from the start of a copy to the start of the next.
    pub stride: i64,
    /// Number of copies.
    pub count: u64,
    /// Displacement of the first copy in bytes.
    pub displacement: i64,
}

impl ShapeCopies<'_> {
    /// Returns the displacement of the lowest byte. The shape must have bytes.
    fn low(&self) -> Result<i64, Error> {
        let first = self.shape.low.checked_add(self.displacement);
        let back = back(self.stride, self.count)?;
        first.and_then(|first| first.checked_add(back)).ok_or_else(too_far)
    }
}

/// Returns the displacement of the lowest of `count` copies (1 or more) from the first; 0 or negative.
fn back(stride: i64, count: u64) -> Result<i64, Error> {
    let steps = i64::try_from(count - 1).map_err(|_| too_far())?;
    Ok(stride.checked_mul(steps).ok_or_else(too_far)?.min(0))
}

/// Returns the number of bytes from `low` to `high`; an error if 63 bits cannot hold it.
fn apart(low: i64, high: i64) -> Result<u64, Error> {
    high.checked_sub(low).and_then(|apart| u64::try_from(apart).ok()).ok_or_else(too_far)
}

/// Returns the error of bytes that lie too far apart.
pub(super) fn too_far() -> Error {
    Error::argument("datatype", "bytes more than 2^63 - 1 apart", "less than 2^63")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(shape: &Shape, stride: i64, blocks: &[(i64, u64)]) -> Vec<i64> {
        bytes(&shape.blocks(stride, blocks.iter().copied()).unwrap())
    }

    fn bytes(shape: &Shape) -> Vec<i64> {
        let at = |extent: Extent| (extent.offset..extent.end()).map(|offset| offset as i64 + shape.low);
        shape.extents.iter().flat_map(at).collect()
    }

    #[test]
    fn copies_may_go_backwards() {
        let two = Shape::contiguous(3, 2).unwrap();
        assert_eq!(bytes(&two.repeat(-5, 3).unwrap()), [3, 4, -2, -1, -7, -6]);
        assert_eq!(bytes(&two.repeat(0, 2).unwrap()), [3, 4, 3, 4]);
        assert_eq!(bytes(&two.repeat(2, 3).unwrap()), [3, 4, 5, 6, 7, 8]);
        assert_eq!(two.repeat(2, 3).unwrap().extents().count(), 1);
        assert!(two.repeat(i64::MAX, 3).is_err());
    }

    #[test]
    fn blocks_keep_their_order() {
        let one = Shape::contiguous(0, 2).unwrap();
        let places = [(10, 2), (-4, 1), (0, 0), (2, 1)];
        assert_eq!(blocks(&one, 2, &places), [10, 11, 12, 13, -4, -3, 2, 3]);
        assert_eq!(blocks(&one, -2, &places), [10, 11, 8, 9, -4, -3, 2, 3]);
        let parts = blocks(&one.repeat(4, 20).unwrap(), 100, &[(50, 2), (0, 1)]);
        assert_eq!(parts.len(), 120);
        assert_eq!((parts[0], parts[40], parts[80], parts[119]), (50, 150, 0, 77));
        assert!(one.blocks(2, [(i64::MIN, 1), (i64::MAX, 1)].into_iter()).is_err());
    }

    #[test]
    fn blocks_of_several_shapes_follow_one_another() {
        let (two, three) = (Shape::contiguous(1, 2).unwrap(), Shape::contiguous(-3, 3).unwrap());
        let none = Shape::default();
        let block = |shape, stride, count, displacement| ShapeCopies { shape, stride, count, displacement };
        let all = [block(&two, -4, 2, 8), block(&none, 1, 5, -90), block(&three, 3, 2, 4), block(&two, 0, 0, -50)];
        let all = Shape::concat(all.into_iter()).unwrap();
        assert_eq!(bytes(&all), [9, 10, 5, 6, 1, 2, 3, 4, 5, 6]);
        assert_eq!(all.low(), 1);
        assert_eq!(Shape::concat([block(&two, 1, 0, 3)].into_iter()).unwrap(), none);
    }

    #[test]
    fn nests_of_runs_stay_small() {
        let element = Shape::contiguous(0, 8).unwrap();
        let cube = element.repeat(16, 1000).unwrap().repeat(32_000, 1000).unwrap().repeat(64_000_000, 1000).unwrap();
        assert_eq!(cube.extents().count(), 1_000_000_000);
        assert!(cube.extents().memory() < 1024);
    }
}
