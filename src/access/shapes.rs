//! Makes extents of regular shapes that scientific codes use, in O(dimensions) memory.

use super::extents::{Extents, check_end, out_of_range};
use crate::error::{Error, Result};

impl Extents {
    /// Returns an n-dimensional subarray of a row-major array that begins at byte `offset`. `sizes`, `subsizes` and
    /// `starts` count elements of `element` bytes, slowest dimension first, as in `MPI_Type_create_subarray`.
    /// Adjacent rows become one extent. O(dimensions) time and memory.
    ///
    /// # Errors
    /// The lists have different lengths, the subarray leaves its array, or the array has more than 2^63 - 1 bytes.
    pub fn subarray(offset: u64, element: u64, sizes: &[u64], subsizes: &[u64], starts: &[u64]) -> Result<Self> {
        let same = sizes.len() == subsizes.len() && sizes.len() == starts.len();
        let inside =
            same && (0..sizes.len()).all(|d| starts[d].checked_add(subsizes[d]).is_some_and(|e| e <= sizes[d]));
        if !inside {
            let given = format!("sizes {sizes:?}, subsizes {subsizes:?}, starts {starts:?}");
            return Err(Error::argument("subarray", given, "start + subsize <= size in every dimension"));
        }
        if subsizes.contains(&0) {
            return Ok(Self::empty());
        }
        let mut pitch = element;
        let mut all = Self::contiguous(0, element)?;
        let mut shift = 0u64;
        for dimension in (0..sizes.len()).rev() {
            let stride = i64::try_from(pitch).map_err(|_| out_of_range(offset, pitch))?;
            all = all.repeat(stride, subsizes[dimension])?;
            let moved = starts[dimension].checked_mul(pitch).and_then(|m| shift.checked_add(m));
            shift = moved.ok_or_else(|| out_of_range(offset, pitch))?;
            pitch = pitch.checked_mul(sizes[dimension]).ok_or_else(|| out_of_range(offset, pitch))?;
        }
        all.shift(shift)?.shift(offset)
    }

    /// Returns the share of `part` in a block-cyclic distribution: `total` bytes from `offset` on, in blocks of
    /// `block` bytes that go to parts 0 to `parts` - 1 in turn. The last block may be shorter. O(1) time and memory.
    ///
    /// # Errors
    /// The block has 0 bytes, `part` is not below `parts`, or an extent ends beyond 2^63 - 1.
    pub fn block_cyclic(offset: u64, total: u64, block: u64, part: u64, parts: u64) -> Result<Self> {
        if block == 0 || part >= parts {
            let given = format!("block {block}, part {part} of {parts}");
            return Err(Error::argument("block-cyclic distribution", given, "block > 0, part < parts"));
        }
        check_end(offset, total)?;
        let cycle = u128::from(block) * u128::from(parts);
        let first = u128::from(block) * u128::from(part);
        if first >= u128::from(total) {
            return Ok(Self::empty());
        }
        let mine = u128::from(total) - first;
        let whole = ((mine + cycle - u128::from(block)) / cycle) as u64;
        let stride = cycle.min(i64::MAX as u128) as i64;
        let mut all = match whole {
            0 => Self::empty(),
            _ => Self::strided(offset + first as u64, block, stride, whole)?,
        };
        let next = first + u128::from(whole) * cycle;
        if next < u128::from(total) {
            all.push(&Self::contiguous(offset + next as u64, (u128::from(total) - next) as u64)?)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::extents::tests::{check_summary, list};

    #[test]
    fn a_four_dimensional_subarray_takes_constant_memory() {
        let all = Extents::subarray(7, 8, &[64, 64, 64, 64], &[32, 32, 32, 32], &[1, 2, 3, 4]).unwrap();
        assert_eq!(all.count(), 32 * 32 * 32);
        assert_eq!(all.bytes(), 32 * 32 * 32 * 32 * 8);
        assert!(all.memory() < 512, "{} bytes", all.memory());
        assert_eq!(all.iter().next().unwrap().offset, 7 + 8 * (((64 + 2) * 64 + 3) * 64 + 4));
        check_summary(&all);
    }

    #[test]
    fn whole_rows_are_one_extent() {
        assert_eq!(list(&Extents::subarray(0, 4, &[6, 5], &[2, 5], &[1, 0]).unwrap()), [(20, 40)]);
        assert_eq!(list(&Extents::subarray(0, 4, &[6], &[6], &[0]).unwrap()), [(0, 24)]);
    }

    #[test]
    fn block_cyclic_parts_tile_the_whole() {
        for parts in 1..5 {
            let mut seen = [0u8; 103];
            for part in 0..parts {
                let mine = Extents::block_cyclic(0, 103, 10, part, parts).unwrap();
                check_summary(&mine);
                mine.iter().for_each(|e| seen[e.offset as usize..e.end() as usize].iter_mut().for_each(|b| *b += 1));
            }
            assert!(seen.iter().all(|&n| n == 1), "{parts} parts");
        }
    }

    #[test]
    fn bad_shapes_are_refused() {
        assert!(Extents::subarray(0, 8, &[4], &[4], &[1]).is_err());
        assert!(Extents::subarray(0, 8, &[4, 4], &[4], &[0]).is_err());
        assert!(Extents::subarray(0, u64::MAX, &[4, 4], &[1, 1], &[0, 0]).is_err());
        assert!(Extents::block_cyclic(0, 10, 0, 0, 1).is_err());
    }
}
