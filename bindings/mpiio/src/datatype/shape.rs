//! Bytes in an order, relative to an address that may lie anywhere among them.

use tributary::{Error, Extent, Extents};

/// What a datatype's constructor puts together: extents in typemap order, and the displacement of the lowest byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Of the lowest byte, in bytes from the address; 0 without bytes.
    low: i64,
    /// The bytes, the lowest at offset 0.
    extents: Extents,
}

/// A repeated part of at most so many extents is written out, where it is repeated irregularly: a list is smaller then than
/// the parts it is made of.
const SHORT: u64 = 8;

impl Shape {
    /// One run of bytes.
    ///
    /// # Errors
    /// An end beyond 2^63 - 1.
    pub fn contiguous(low: i64, len: u64) -> Result<Self, Error> {
        Ok(if len == 0 { Self::default() } else { Self { low, extents: Extents::contiguous(0, len)? } })
    }

    /// Displacement of the lowest byte.
    pub fn low(&self) -> i64 {
        self.low
    }

    /// The bytes, the lowest at offset 0.
    pub fn extents(&self) -> &Extents {
        &self.extents
    }

    /// The same, `by` bytes further on.
    ///
    /// # Errors
    /// A displacement beyond 64 bits.
    pub fn shift(mut self, by: i64) -> Result<Self, Error> {
        if self.extents.count() > 0 {
            self.low = self.low.checked_add(by).ok_or_else(too_far)?;
        }
        Ok(self)
    }

    /// `count` copies, each `stride` bytes (which may be negative) behind the one before. O(1) where the shape is one run or
    /// nest of runs.
    ///
    /// # Errors
    /// Bytes beyond 2^63 - 1.
    pub fn repeat(&self, stride: i64, count: u64) -> Result<Self, Error> {
        if count == 0 || self.extents.count() == 0 {
            return Ok(Self::default());
        }
        let last = i64::try_from(count - 1).ok().and_then(|steps| stride.checked_mul(steps)).ok_or_else(too_far)?;
        let back = last.min(0);
        let extents = self.extents.clone().shift(back.unsigned_abs())?.repeat(stride, count)?;
        Ok(Self { low: self.low.checked_add(back).ok_or_else(too_far)?, extents })
    }

    /// Parts one after the other.
    ///
    /// # Errors
    /// Bytes that are more than 2^63 - 1 apart.
    pub fn concat(parts: &[Self]) -> Result<Self, Error> {
        let parts: Vec<_> = parts.iter().filter(|part| part.extents.count() > 0).collect();
        let Some(low) = parts.iter().map(|part| part.low).min() else {
            return Ok(Self::default());
        };
        let mut all = Extents::empty();
        for part in parts {
            all.push(&part.extents.clone().shift(apart(low, part.low)?)?)?;
        }
        Ok(Self { low, extents: all })
    }

    /// Blocks of this shape: in each (displacement, count), `count` copies, `stride` bytes apart.
    ///
    /// # Errors
    /// Bytes that are more than 2^63 - 1 apart.
    pub fn blocks(&self, stride: i64, blocks: &[(i64, i64)]) -> Result<Self, Error> {
        let filled = || blocks.iter().filter(|(_, count)| *count > 0 && self.extents.count() > 0);
        let longest = filled().map(|&(_, count)| count).max().unwrap_or_default();
        let dense = self.extents.count() == 1 && i64::try_from(self.extents.bytes()) == Ok(stride);
        let short = dense || (longest as u64).saturating_mul(self.extents.count()) <= SHORT;
        if !short {
            let part = |&(displacement, count): &(i64, i64)| self.repeat(stride, count as u64)?.shift(displacement);
            return Self::concat(&filled().map(part).collect::<Result<Vec<_>, _>>()?);
        }
        let start = |displacement: i64, count: i64| {
            let back = stride.min(0).checked_mul(count - 1)?;
            self.low.checked_add(displacement)?.checked_add(back)
        };
        let starts = filled().map(|&(displacement, count)| start(displacement, count).ok_or_else(too_far));
        let starts: Vec<i64> = starts.collect::<Result<_, _>>()?;
        let Some(&low) = starts.iter().min() else {
            return Ok(Self::default());
        };
        let mut list = Vec::with_capacity(starts.len());
        for (&(_, count), &start) in filled().zip(&starts) {
            let from = apart(low, start)?;
            let block = self.repeat(stride, count as u64)?;
            for extent in block.extents.iter() {
                let offset = from.checked_add(extent.offset).ok_or_else(too_far)?;
                list.push(Extent { offset, len: extent.len });
            }
        }
        Ok(Self { low, extents: Extents::from_list(joined(list))? })
    }
}

/// Extents that follow one another without a gap, as one.
fn joined(list: Vec<Extent>) -> Vec<Extent> {
    let mut all: Vec<Extent> = Vec::with_capacity(list.len());
    for extent in list {
        match all.last_mut() {
            Some(last) if last.end() == extent.offset => last.len += extent.len,
            _ => all.push(extent),
        }
    }
    all
}

/// How far `high` is behind `low`.
fn apart(low: i64, high: i64) -> Result<u64, Error> {
    high.checked_sub(low).and_then(|apart| u64::try_from(apart).ok()).ok_or_else(too_far)
}

fn too_far() -> Error {
    Error::argument("datatype", "bytes more than 2^63 - 1 apart", "less than 2^63")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let blocks = [(10, 2), (-4, 1), (0, 0), (2, 1)];
        assert_eq!(bytes(&one.blocks(2, &blocks).unwrap()), [10, 11, 12, 13, -4, -3, 2, 3]);
        assert_eq!(bytes(&one.blocks(-2, &blocks).unwrap()), [10, 11, 8, 9, -4, -3, 2, 3]);
        let long = one.repeat(4, 20).unwrap();
        let parts = bytes(&long.blocks(100, &[(50, 2), (0, 1)]).unwrap());
        assert_eq!(parts.len(), 120);
        assert_eq!((parts[0], parts[40], parts[80], parts[119]), (50, 150, 0, 77));
    }

    #[test]
    fn nests_of_runs_stay_small() {
        let element = Shape::contiguous(0, 8).unwrap();
        let cube = element.repeat(16, 1000).unwrap().repeat(32_000, 1000).unwrap().repeat(64_000_000, 1000).unwrap();
        assert_eq!(cube.extents().count(), 1_000_000_000);
        assert!(cube.extents().memory() < 1024);
    }
}
