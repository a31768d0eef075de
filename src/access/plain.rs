//! Stores extents from arrays of offsets and lengths in 8 bytes each, not encoded: programs with millions of extents
//! need them copied and walked in a few nanoseconds each.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Extent;
use super::extents::{Base, Extents, ListNode, check_end};
use super::packed::Summary;
use crate::error::{Error, Result};

/// One extent of any size, followed by extents that fit in a 64-bit integer each. The upper half of the integer is the signed
/// gap to the end of the extent before, the lower half is the length. Clones share the integers.
#[derive(Debug, Clone)]
pub struct PlainExtents {
    first: Extent,
    integers: Arc<Vec<u64>>,
    range: Range<usize>,
}

impl PlainExtents {
    /// Iterates over the extents in sequence.
    #[inline]
    pub fn iter(&self) -> PlainIter<'_> {
        PlainIter { first: Some(self.first), integers: self.integers().iter(), end: self.first.end() }
    }

    /// Returns the number of bytes of memory that the integers take.
    pub fn memory(&self) -> usize {
        size_of_val(self.integers())
    }

    fn integers(&self) -> &[u64] {
        &self.integers[self.range.clone()]
    }
}

impl PartialEq for PlainExtents {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first && self.integers() == other.integers()
    }
}

impl Eq for PlainExtents {}

/// Iterator over the extents of a [`PlainExtents`], in sequence.
#[derive(Debug, Clone)]
pub struct PlainIter<'a> {
    first: Option<Extent>,
    integers: std::slice::Iter<'a, u64>,
    end: u64,
}

impl PlainIter<'_> {
    /// Appends the next extents to `out`, until `out` has `most` extents.
    pub fn take_into(&mut self, most: usize, out: &mut Vec<Extent>) {
        out.extend(self.first.take());
        let (next, rest) = self.integers.as_slice().split_at(self.integers.len().min(most.saturating_sub(out.len())));
        self.integers = rest.iter();
        out.extend(next.iter().map(|word| follow(&mut self.end, *word)));
    }
}

/// Decodes the extent that the integer `word` holds. `end` is the end of the extent before, and is moved to the end of
/// the new one.
#[inline]
fn follow(end: &mut u64, word: u64) -> Extent {
    let (gap, len) = (i64::from((word >> 32) as i32), u64::from(word as u32));
    let offset = end.wrapping_add(gap as u64);
    *end = offset.wrapping_add(len);
    Extent { offset, len }
}

impl Iterator for PlainIter<'_> {
    type Item = Extent;

    #[inline]
    fn next(&mut self) -> Option<Extent> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        Some(follow(&mut self.end, *self.integers.next()?))
    }
}

/// Encodes an extent in an integer; `None` if gap and length do not fit.
#[inline]
fn word(gap: i64, len: u64) -> Option<u64> {
    (i64::from(gap as i32) == gap && len <= u64::from(u32::MAX)).then_some((gap as u64) << 32 | len)
}

impl Extents {
    /// Creates a sequence in which extent i has `lengths[i]` bytes at `offsets[i]`. Offsets count from `origin` and
    /// may be in any order. Adjacent extents become one; a list with one length and one stride becomes a repetition.
    /// O(length) time, a few nanoseconds each; 8 bytes of memory each, or O(1) for a repetition.
    ///
    /// # Errors
    /// The arrays have different lengths; an offset is below `origin`; a length is below 0; an extent ends above 2^63
    /// - 1.
    pub fn from_arrays(offsets: &[i64], lengths: &[i64], origin: i64) -> Result<Self> {
        if offsets.len() != lengths.len() {
            return Err(Error::argument("lengths", lengths.len(), format!("{}, as the offsets", offsets.len())));
        }
        let mut list = PlainBuilder::new(offsets.len());
        // An extent out of range wraps. `sign` is negative then, and the list is not used.
        let mut sign = 0;
        for (&offset, &len) in offsets.iter().zip(lengths) {
            let (from, beyond) = offset.overflowing_sub(origin);
            sign |= from | len | from.wrapping_add(len) | -i64::from(beyond);
            list.add(Extent { offset: from as u64, len: len as u64 });
        }
        if sign < 0 {
            return Err(first_bad(offsets, lengths, origin));
        }
        list.finish()
    }
}

impl Extents {
    /// Creates the sequence of these extents, in the time and memory of [`Extents::from_arrays`].
    ///
    /// # Errors
    /// An extent ends above 2^63 - 1.
    pub fn from_extents(extents: impl IntoIterator<Item = Extent>) -> Result<Self> {
        let extents = extents.into_iter();
        let mut list = PlainBuilder::new(extents.size_hint().0);
        for extent in extents {
            check_end(extent.offset, extent.len)?;
            list.add(extent);
        }
        list.finish()
    }
}

/// Returns an error that names the first extent which is not allowed.
fn first_bad(offsets: &[i64], lengths: &[i64], origin: i64) -> Error {
    let fits = |offset: i64, len: i64| {
        let from = offset.checked_sub(origin).filter(|from| *from >= 0 && len >= 0);
        from.is_some_and(|from| from.checked_add(len).is_some())
    };
    let mut all = offsets.iter().zip(lengths).enumerate();
    let (at, (offset, len)) = all.find(|(_, (offset, len))| !fits(**offset, **len)).unwrap_or((0, (&0, &0)));
    let allowed = format!("an offset of {origin} or more, a length of 0 or more, an end of at most 2^63 - 1");
    Error::argument(format!("extent {at}"), format!("offset {offset}, length {len}"), allowed)
}

/// Builder of a list of [`PlainExtents`] nodes, or of one repeated extent.
struct PlainBuilder {
    integers: Vec<u64>,
    /// Extents that do not fit in an integer, each with the number of integers before it.
    heads: Vec<(Extent, usize)>,
    /// Last extent that was added. An adjacent next extent makes it longer. Its length is 0 before the first extent.
    open: Extent,
    /// End of the extent before `open`.
    last_end: u64,
    all: Summary,
    /// Gap (from the end of the extent before) and length of the second extent, in bytes.
    second: (i64, u64),
    /// True if all extents after the second have the second's gap and length.
    regular: bool,
}

impl PlainBuilder {
    fn new(room: usize) -> Self {
        let all = Summary { start: u64::MAX, ..Summary::EMPTY };
        let open = Extent { offset: 0, len: 0 };
        let (integers, heads) = (Vec::with_capacity(room), Vec::new());
        Self { integers, heads, open, last_end: 0, all, second: (0, 0), regular: true }
    }

    #[inline]
    fn add(&mut self, extent: Extent) {
        self.all.bytes = self.all.bytes.saturating_add(extent.len);
        if extent.len == 0 {
        } else if self.open.len > 0 && extent.offset == self.open.offset.wrapping_add(self.open.len) {
            self.open.len = self.open.len.wrapping_add(extent.len);
        } else {
            self.close_open_extent();
            self.open = extent;
        }
    }

    /// Appends [`PlainBuilder::open`] to the list, when no adjacent extent can make it longer.
    #[inline]
    fn close_open_extent(&mut self) {
        let Extent { offset, len } = self.open;
        let (gap, end) = (offset.wrapping_sub(self.last_end) as i64, offset.wrapping_add(len));
        let word = word(gap, len);
        match (self.all.count, word) {
            (2.., Some(word)) => {
                self.regular &= self.second == (gap, len);
                self.integers.push(word);
            }
            _ if len == 0 => return,
            (count, word) => self.push_irregular(count, gap, word),
        }
        self.all.ascending &= gap >= 0 || self.all.count == 0;
        self.all.start = self.all.start.min(offset);
        self.all.end = self.all.end.max(end);
        self.all.count += 1;
        self.last_end = end;
    }

    /// Appends the first or second extent, or an extent that does not fit in an integer.
    #[cold]
    fn push_irregular(&mut self, count: u64, gap: i64, word: Option<u64>) {
        match count {
            1 => self.second = (gap, self.open.len),
            2.. => self.regular &= self.second == (gap, self.open.len),
            _ => {}
        }
        match word {
            Some(word) if count > 0 => self.integers.push(word),
            _ => self.heads.push((self.open, self.integers.len())),
        }
    }

    fn finish(mut self) -> Result<Extents> {
        self.close_open_extent();
        let Self { integers, heads, last_end, all, second: (gap, len), regular, .. } = self;
        let Some(&(first, _)) = heads.first() else {
            return Ok(Extents::empty());
        };
        check_end(0, all.bytes)?;
        if all.count == 1 || (regular && first.len == len) {
            return Extents::strided(first.offset, first.len, gap.saturating_add(first.len as i64), all.count);
        }
        let integers = Arc::new(integers);
        let ends = heads.iter().skip(1).map(|(_, at)| *at).chain([integers.len()]);
        let node = |(&(first, from), to)| {
            let base = match from == to {
                true => Base::One(first),
                false => Base::Plain(PlainExtents { first, integers: integers.clone(), range: from..to }, 0),
            };
            ListNode { base, levels: SmallVec::new() }
        };
        Ok(Extents { nodes: heads.iter().zip(ends).map(node).collect(), summary: all, last_end })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::extents::tests::{check_summary, list};
    use super::*;

    fn of(pairs: &[(i64, i64)], origin: i64) -> Result<Extents> {
        let (offsets, lengths): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        Extents::from_arrays(&offsets, &lengths, origin)
    }

    /// Returns the expected list: the extents coalesced one after the other.
    fn coalesced(pairs: &[(i64, i64)], origin: i64) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = Vec::new();
        for &(offset, len) in pairs.iter().filter(|(_, len)| *len > 0) {
            let (offset, len) = ((offset - origin) as u64, len as u64);
            match all.last_mut() {
                Some(last) if last.0 + last.1 == offset => last.1 += len,
                _ => all.push((offset, len)),
            }
        }
        all
    }

    #[test]
    fn one_stride_is_a_run() {
        let pairs: Vec<_> = (0..1000).map(|i| (5 + 40 * i, 17)).collect();
        let all = of(&pairs, 0).unwrap();
        assert_eq!(all, Extents::strided(5, 17, 40, 1000).unwrap());
        let backwards: Vec<_> = pairs.iter().rev().copied().collect();
        assert_eq!(list(&of(&backwards, 5).unwrap()), coalesced(&backwards, 5));
    }

    #[test]
    fn an_extent_that_fits_in_no_word_begins_a_node() {
        let far = 1 << 40;
        let pairs = [(0, 3), (10, 4), (far, 1 << 33), (far + (1 << 34), 5), (20, 6), (30, 7), (far, 1), (far + 2, 1)];
        let all = of(&pairs, 0).unwrap();
        assert_eq!(list(&all), coalesced(&pairs, 0));
        assert_eq!(all.nodes.len(), 5);
        check_summary(&all);
        let moved = all.clone().shift(7).unwrap();
        assert!(list(&moved).iter().zip(list(&all)).all(|(moved, at)| *moved == (at.0 + 7, at.1)));
    }

    #[test]
    fn eight_bytes_each() {
        let pairs: Vec<_> = (0..10_000).map(|i| (i * 100 + i * i % 7, 17 + i % 3)).collect();
        let all = of(&pairs, 0).unwrap();
        assert!(all.memory() <= 8 * pairs.len() + 512, "{} bytes", all.memory());
    }

    #[test]
    fn extents_out_of_range_are_refused() {
        for (pairs, origin, text) in [
            (&[(0, 1), (-1, 1)][..], 0, "extent 1: offset -1, length 1;"),
            (&[(0, 1), (5, -2), (-3, 1)], 0, "extent 1: offset 5, length -2;"),
            (&[(i64::MAX, 1)], 0, "extent 0: offset 9223372036854775807, length 1;"),
            (&[(4, 1)], 5, "an offset of 5 or more"),
            (&[(i64::MAX, 0), (0, 1)], -1, "extent 0: "),
            (&[(0, i64::MAX), (0, i64::MAX)], 0, "2^63 - 1"),
        ] {
            let error = of(pairs, origin).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        assert!(Extents::from_arrays(&[1], &[], 0).is_err());
        assert_eq!(of(&[], 0).unwrap(), Extents::empty());
        assert_eq!(of(&[(3, 0)], 0).unwrap(), Extents::empty());
    }

    proptest! {
        #[test]
        fn arrays_give_the_coalesced_list(
            pairs in prop::collection::vec(
                (prop_oneof![0i64..60, Just(1i64 << 33), Just(1i64 << 50)], prop_oneof![0i64..4, Just(1i64 << 32)]), 0..40
            ),
            origin in -5i64..=0,
        ) {
            let all = of(&pairs, origin).unwrap();
            prop_assert_eq!(list(&all), coalesced(&pairs, origin));
            check_summary(&all);
            prop_assert_eq!(&of(&pairs, origin).unwrap(), &all);
            let twice = all.repeat(1 << 20, 2).unwrap();
            check_summary(&twice);
        }
    }
}
