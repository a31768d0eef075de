//! Builds sequences of extents: copies of a sequence at a list of places, concatenations, subarrays and block-cyclic
//! distributions. A regular sequence takes little memory, whatever its number of extents.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Extent;
use super::extents::{Base, Extents, ListNode, NodeGroup, check_end, out_of_range, repeated};
use super::packed::{Packed, Summary};
use crate::error::{Error, Result};

/// Maximum number of extents of a sequence that is packed into one list. A longer sequence becomes a group: a list is faster
/// to walk.
const PACKED_LIMIT: u64 = 256;
/// Maximum number of extents of a part that [`Extents::concat`] packs together with its neighbours. Packed, such a part takes
/// no more memory than a node.
const SHORT_PART: u64 = 8;

impl Extents {
    /// Copies the sequence to each of `places`, in their order. A place (offset, n) holds `n` copies: the first is
    /// shifted by `offset` bytes, each further copy lies `stride` bytes after the copy before. Adjacent extents
    /// become one, and places at equal distances become a repetition. O(places) time and memory, whatever the number
    /// of extents.
    ///
    /// # Errors
    /// An extent begins before 0 or ends beyond 2^63 - 1.
    pub fn scatter(&self, stride: i64, places: impl Iterator<Item = (u64, u64)> + Clone) -> Result<Self> {
        let places = places.filter(|&(_, copies)| copies > 0 && self.count() > 0);
        if let Some(Regular { offset, copies, distance, count }) = Regular::from_places(places.clone()) {
            return self.clone().shift(offset)?.repeat(stride, copies)?.repeat(distance, count);
        }
        let Scattered { summary, last_end, places: number } = self.scattered(stride, places.clone())?;
        if let [ListNode { base: Base::One(extent), levels }] = self.nodes.as_slice()
            && levels.is_empty()
            && i64::try_from(extent.len) == Ok(stride)
        {
            let blocks = places.map(|(by, copies)| Extent { offset: by + extent.offset, len: copies * extent.len });
            return Self::from_extents(blocks);
        }
        if summary.count <= number.saturating_mul(SHORT_PART).max(PACKED_LIMIT) {
            let copies = places.flat_map(|(by, n)| (0..n as i64).map(move |copy| by as i64 + copy * stride));
            let shifted = |by: i64, extent: Extent| Extent { offset: (extent.offset as i64 + by) as u64, ..extent };
            return Self::from_list(coalesced(
                copies.flat_map(|by| self.iter().map(move |extent| shifted(by, extent))),
            ));
        }
        let places = places.map(|(offset, len)| Extent { offset, len }).collect();
        Ok(self.group(places, stride, summary, last_end))
    }

    /// Joins `parts`, one after the other, as one node. Short parts are packed together, and their adjacent extents
    /// become one. Other parts stay as they are. O(parts) memory.
    ///
    /// # Errors
    /// The first error among `parts`; or an error if there are more than 2^63 - 1 bytes or extents in all.
    pub fn concat(parts: impl IntoIterator<Item = Result<Self>>) -> Result<Self> {
        let mut all = Self::empty();
        let mut short = Vec::new();
        for part in parts {
            let part = part?;
            if part.count() <= SHORT_PART {
                short.extend(part.iter());
            } else {
                all.push(&Self::from_list(coalesced(short.drain(..)))?)?;
                all.push(&part)?;
            }
        }
        all.push(&Self::from_list(coalesced(short.into_iter()))?)?;
        Ok(if all.nodes.len() > 1 { all.as_one_node() } else { all })
    }

    /// Returns the same sequence as one node: packed if it is short, otherwise a group.
    pub(super) fn as_one_node(&self) -> Self {
        if self.count() <= PACKED_LIMIT {
            return Self::from_packed(self.iter().collect(), self.last_end);
        }
        let here = [Extent { offset: 0, len: 1 }].into_iter().collect();
        self.group(here, 0, self.summary, self.last_end)
    }

    fn group(&self, places: Packed, stride: i64, summary: Summary, last_end: u64) -> Self {
        let group = NodeGroup { nodes: self.nodes.clone(), places, stride };
        let node = ListNode { base: Base::Group(Arc::new(group), 0), levels: SmallVec::new() };
        Self { nodes: vec![node], summary, last_end }
    }

    /// Returns the summary of the copies at `places` (offset, number of copies), without making the copies. Checks
    /// that all of them lie within 0 and 2^63 - 1.
    fn scattered(&self, stride: i64, places: impl Iterator<Item = (u64, u64)>) -> Result<Scattered> {
        let first = self.iter().next().map_or(0, |extent| extent.offset);
        let mut all = Scattered { summary: Summary::EMPTY, last_end: 0, places: 0 };
        for (by, copies) in places {
            check_end(by, copies.max(self.summary.end))?;
            let one = Summary { start: self.summary.start + by, end: self.summary.end + by, ..self.summary };
            let here = repeated(&one, stride, copies)?;
            let sum = &mut all.summary;
            check_end(sum.bytes, here.bytes)?;
            sum.ascending &= here.ascending && (sum.count == 0 || first + by >= all.last_end);
            sum.start = if sum.count == 0 { here.start } else { sum.start.min(here.start) };
            sum.end = sum.end.max(here.end);
            sum.count += here.count;
            sum.bytes += here.bytes;
            all.last_end = (self.last_end as i64 + by as i64 + stride * (copies as i64 - 1)) as u64;
            all.places += 1;
        }
        Ok(all)
    }
}

/// Summary of copies at several places.
struct Scattered {
    summary: Summary,
    /// End of the last extent in sequence.
    last_end: u64,
    /// Number of places with copies.
    places: u64,
}

/// A regular list of places: `count` places, `distance` bytes from one to the next, with `copies` copies at each.
struct Regular {
    offset: u64,
    copies: u64,
    distance: i64,
    count: u64,
}

impl Regular {
    fn from_places(mut places: impl Iterator<Item = (u64, u64)>) -> Option<Self> {
        let (offset, copies) = places.next()?;
        let mut all = Self { offset, copies, distance: 0, count: 1 };
        let mut last = offset;
        for (offset, copies) in places {
            let distance = i64::try_from(i128::from(offset) - i128::from(last)).ok()?;
            if copies != all.copies || (all.count > 1 && distance != all.distance) {
                return None;
            }
            (all.distance, last) = (distance, offset);
            all.count += 1;
        }
        Some(all)
    }
}

/// Returns the extents, without extents of length 0; extents that follow one another without a gap become one.
fn coalesced(extents: impl Iterator<Item = Extent>) -> impl Iterator<Item = Extent> {
    let mut extents = extents.filter(|extent| extent.len > 0).peekable();
    std::iter::from_fn(move || {
        let mut whole = extents.next()?;
        while let Some(next) = extents.next_if(|next| next.offset == whole.end()) {
            whole.len += next.len;
        }
        Some(whole)
    })
}

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
    use proptest::prelude::*;

    use super::*;
    use crate::access::extents::tests::{check_summary, list};

    fn bytes(extents: &Extents) -> Vec<u64> {
        extents.iter().flat_map(|extent| extent.offset..extent.end()).collect()
    }

    fn at(extents: &Extents, stride: i64, places: &[(u64, u64)]) -> Extents {
        extents.scatter(stride, places.iter().copied()).unwrap()
    }

    #[test]
    fn regular_places_are_a_run() {
        let one = Extents::contiguous(0, 8).unwrap();
        assert_eq!(at(&one, 8, &[(0, 2), (40, 2), (80, 2)]), Extents::strided(0, 16, 40, 3).unwrap());
        assert_eq!(at(&one, 8, &[(0, 1), (5, 0), (8, 1), (16, 1)]), Extents::contiguous(0, 24).unwrap());
        assert_eq!(at(&one, 8, &[(7, 3)]), Extents::contiguous(7, 24).unwrap());
        assert_eq!(at(&one, 8, &[]), Extents::empty());
        assert_eq!(list(&at(&one, 8, &[(0, 2), (16, 1), (40, 1)])), [(0, 24), (40, 8)]);
        assert_eq!(list(&at(&one, -8, &[(8, 2), (40, 1)])), [(8, 8), (0, 8), (40, 8)]);
        assert!(one.scatter(-8, [(8, 3), (9, 1)].into_iter()).is_err());
    }

    #[test]
    fn parts_that_adjoin_are_joined() {
        let part = |offset, len| Extents::contiguous(offset, len);
        assert_eq!(list(&Extents::concat([part(0, 4), part(4, 0), part(4, 4), part(2, 1)]).unwrap()), [(0, 8), (2, 1)]);
        assert_eq!(Extents::concat([]).unwrap(), Extents::empty());
        assert!(Extents::concat([part(0, 4), part(u64::MAX, 4)]).is_err());
    }

    #[test]
    fn levels_in_one_stride_are_one() {
        let row = Extents::strided(0, 4, 8, 10).unwrap();
        assert_eq!(row.repeat(80, 5).unwrap(), Extents::strided(0, 4, 8, 50).unwrap());
        assert_ne!(row.repeat(88, 5).unwrap(), Extents::strided(0, 4, 8, 50).unwrap());
    }

    #[test]
    fn nests_of_large_parts_are_never_written_out() {
        let cube = |offset| Extents::subarray(offset, 8, &[4096, 4096, 4096], &[1000, 1000, 1000], &[0, 0, 0]);
        let two = Extents::concat([cube(0), cube(16 << 30)]).unwrap();
        let nest = at(&two.repeat(1 << 40, 1000).unwrap(), 1 << 52, &[(0, 3), (1 << 51, 1)]);
        assert_eq!(nest.count(), 2 * 1_000_000 * 1000 * 4);
        assert!(nest.memory() < 2048, "{} bytes", nest.memory());
        assert_eq!(nest.iter().next().unwrap().offset, 0);
    }

    proptest! {
        #[test]
        fn copies_lie_where_they_are_put(
            parts in prop::collection::vec((0u64..500, 1u64..9, 9i64..30, 1u64..80), 1..4),
            places in prop::collection::vec((20_000u64..40_000, 0u64..4), 0..6),
            stride in -3000i64..3000,
            outer in 1u64..4,
        ) {
            let mut one = Extents::empty();
            for &(offset, len, stride, count) in &parts {
                one.push(&Extents::strided(offset, len, stride, count).unwrap()).unwrap();
            }
            let all = at(&one, stride, &places).repeat(50_000, outer).unwrap().shift(7).unwrap();
            check_summary(&all);
            let mut expected = Vec::new();
            for turn in 0..outer {
                for &(offset, copies) in &places {
                    for copy in 0..copies as i64 {
                        let by = (7 + turn * 50_000 + offset) as i64 + copy * stride;
                        expected.extend(bytes(&one).into_iter().map(|byte| (byte as i64 + by) as u64));
                    }
                }
            }
            prop_assert_eq!(bytes(&all), expected);
        }

        #[test]
        fn parts_follow_one_another(
            parts in prop::collection::vec((0u64..500, 1u64..9, 0i64..30, 1u64..400), 0..6),
        ) {
            let parts = parts.into_iter().map(|(offset, len, stride, count)| Extents::strided(offset, len, stride, count));
            let parts: Vec<_> = parts.map(Result::unwrap).collect();
            let all = Extents::concat(parts.iter().cloned().map(Ok)).unwrap();
            check_summary(&all);
            prop_assert_eq!(bytes(&all), parts.iter().flat_map(bytes).collect::<Vec<_>>());
            prop_assert!(all.nodes.len() <= 1);
        }
    }

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
