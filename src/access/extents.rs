//! Stores long sequences of extents (offset, length) in little memory.
//!
//! A sequence is a list of nodes. A node is one extent, a list of extents or a group of nodes, repeated along any number
//! of strided levels. A vector, a block-cyclic pattern or a 4-D subarray is one node of O(dimensions) memory, whatever its
//! number of extents. An irregular list is one node of [`Packed`] bytes. That list repeated (a variable for each of 72
//! levels) is one node too, and so are several subarrays that are repeated or scattered together.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use super::Extent;
use super::packed::{Packed, Packer, Summary};
use super::plain::PlainExtents;
use super::sublists::Each;
use crate::error::{Error, Result};

/// A sequence of extents, in the order in which a buffer's bytes fill them. Extents of length 0 are dropped.
/// The constructors check their arguments: an offset below 0 or an end above 2^63 - 1 is an error and never wraps. All
/// methods are local: no other rank has to call them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extents {
    pub(super) nodes: Vec<ListNode>,
    pub(super) summary: Summary,
    /// End of the last extent in the sequence, in bytes. Shows if an appended extent keeps the offsets ascending.
    pub(super) last_end: u64,
}

impl Default for Extents {
    fn default() -> Self {
        Self::empty()
    }
}

impl Extents {
    /// Returns the sequence of no extents; it takes no heap memory.
    pub const fn empty() -> Self {
        Self { nodes: Vec::new(), summary: Summary::EMPTY, last_end: 0 }
    }

    /// Returns a sequence of one extent: `len` bytes at `offset`. O(1).
    ///
    /// # Errors
    /// The extent ends above 2^63 - 1.
    pub fn contiguous(offset: u64, len: u64) -> Result<Self> {
        check_end(offset, len)?;
        if len == 0 {
            return Ok(Self::empty());
        }
        let summary = Summary { count: 1, bytes: len, start: offset, end: offset + len, ascending: true };
        let node = ListNode { base: Base::One(Extent { offset, len }), levels: SmallVec::new() };
        Ok(Self { nodes: vec![node], summary, last_end: offset + len })
    }

    /// Returns a vector: `count` blocks of `len` bytes, the first at `offset`, with `stride` bytes from the start of
    /// a block to the start of the next. O(1) time and memory.
    ///
    /// # Errors
    /// An extent begins before 0 or ends beyond 2^63 - 1.
    pub fn strided(offset: u64, len: u64, stride: i64, count: u64) -> Result<Self> {
        Self::contiguous(offset, len)?.repeat(stride, count)
    }

    /// Packs the extents of `list`, in its order. O(length) time; a repeated pattern is stored once.
    ///
    /// # Errors
    /// An extent ends above 2^63 - 1.
    pub fn from_list(list: impl IntoIterator<Item = Extent>) -> Result<Self> {
        let mut packer = Packer::default();
        let (mut last_end, mut bytes) = (0, 0);
        for extent in list {
            check_end(extent.offset, extent.len)?;
            check_end(bytes, extent.len)?;
            bytes += extent.len;
            if extent.len > 0 {
                packer.push(extent);
                last_end = extent.end();
            }
        }
        Ok(Self::from_packed(packer.finish(), last_end))
    }

    /// Reads the wire form of a [`Packed`] from the front of `bytes`, and removes it there. O(encoded bytes), also if damaged
    /// bytes claim a huge number of extents.
    ///
    /// # Errors
    /// [`Error::Codec`] on damaged bytes.
    pub(crate) fn read(bytes: &mut Bytes) -> Result<Self> {
        Packed::read_with_end(bytes).map(|(packed, last_end)| Self::from_packed(packed, last_end))
    }

    pub(super) fn from_packed(packed: Packed, last_end: u64) -> Self {
        let summary = *packed.summary();
        let base = match summary.count {
            0 => return Self::empty(),
            1 => Base::One(Extent { offset: summary.start, len: summary.bytes }),
            _ => Base::List(packed, 0),
        };
        Self { nodes: vec![ListNode { base, levels: SmallVec::new() }], summary, last_end }
    }

    /// Repeats the sequence `count` times as one node, each copy `stride` bytes after the copy before. Adjacent
    /// blocks (`stride` is the length of a single extent) become one extent. Levels that continue in the same stride
    /// become one level. O(nodes).
    ///
    /// # Errors
    /// An extent begins before 0 or ends beyond 2^63 - 1.
    pub fn repeat(&self, stride: i64, count: u64) -> Result<Self> {
        if count == 0 || self.summary.count == 0 {
            return Ok(Self::empty());
        }
        if count == 1 {
            return Ok(self.clone());
        }
        let summary = repeated(&self.summary, stride, count)?;
        let mut last_end = self.last_end as i64;
        last_end += stride * (count as i64 - 1);
        let [node] = self.nodes.as_slice() else {
            return self.as_one_node().repeat(stride, count);
        };
        let mut node = node.clone();
        match (&mut node.base, node.levels.first_mut()) {
            (Base::One(extent), None) if i64::try_from(extent.len) == Ok(stride) => {
                return Self::contiguous(extent.offset, extent.len * count);
            }
            (_, Some(outer)) if i128::from(outer.stride) * i128::from(outer.count) == i128::from(stride) => {
                outer.count *= count;
            }
            _ => node.levels.insert(0, Level { stride, count }),
        }
        Ok(Self { nodes: vec![node], summary, last_end: last_end as u64 })
    }

    /// Returns the sequence with `by` bytes added to every offset. O(nodes).
    ///
    /// # Errors
    /// An extent ends above 2^63 - 1.
    pub fn shift(mut self, by: u64) -> Result<Self> {
        check_end(self.summary.end, by)?;
        for node in &mut self.nodes {
            match &mut node.base {
                Base::One(extent) => extent.offset += by,
                Base::List(_, shift) | Base::Plain(_, shift) | Base::Group(_, shift) => *shift += by as i64,
            }
        }
        if self.summary.count > 0 {
            self.summary.start += by;
            self.summary.end += by;
            self.last_end += by;
        }
        Ok(self)
    }

    /// Appends `other`. O(nodes of `other`).
    ///
    /// # Errors
    /// There are more than 2^63 - 1 bytes or extents in all. Nothing is appended in this case.
    pub fn push(&mut self, other: &Self) -> Result<()> {
        if other.summary.count == 0 {
            return Ok(());
        }
        let (mine, theirs) = (&mut self.summary, &other.summary);
        let limit = i64::MAX as u64;
        if mine.bytes.saturating_add(theirs.bytes) > limit || mine.count.saturating_add(theirs.count) > limit {
            return Err(out_of_range(mine.bytes, theirs.bytes));
        }
        if mine.count == 0 {
            *mine = *theirs;
        } else {
            let first = other.iter().next().map_or(0, |extent| extent.offset);
            mine.ascending &= theirs.ascending && first >= self.last_end;
            mine.count += theirs.count;
            mine.bytes += theirs.bytes;
            mine.start = mine.start.min(theirs.start);
            mine.end = mine.end.max(theirs.end);
        }
        self.last_end = other.last_end;
        self.nodes.extend_from_slice(&other.nodes);
        Ok(())
    }

    /// Returns the number of extents.
    pub fn count(&self) -> u64 {
        self.summary.count
    }

    /// Returns the sum of the extents' lengths, in bytes.
    pub fn bytes(&self) -> u64 {
        self.summary.bytes
    }

    /// Returns the lowest offset and the highest end, in bytes; `None` for an empty sequence.
    pub fn span(&self) -> Option<(u64, u64)> {
        (self.summary.count > 0).then_some((self.summary.start, self.summary.end))
    }

    /// Returns true if every extent starts at or after the end of the extent before.
    pub fn is_ascending(&self) -> bool {
        self.summary.ascending
    }

    /// Returns the number of bytes of memory that this sequence takes.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.nodes.iter().map(ListNode::memory).sum::<usize>()
    }

    /// Returns the extents in sequence. O(1) per extent, amortised.
    pub fn iter(&self) -> impl Iterator<Item = Extent> + '_ {
        Each::new(self)
    }
}

pub(super) fn out_of_range(offset: u64, len: u64) -> Error {
    Error::argument("extent", format!("offset {offset}, length {len}"), "offset + length <= 2^63 - 1")
}

#[inline]
pub(super) fn check_end(offset: u64, len: u64) -> Result<()> {
    match offset.checked_add(len) {
        Some(end) if end <= i64::MAX as u64 => Ok(()),
        _ => Err(out_of_range(offset, len)),
    }
}

/// Returns the summary of `count` copies (1 or more), each `stride` bytes after the copy before.
pub(super) fn repeated(one: &Summary, stride: i64, count: u64) -> Result<Summary> {
    let bad = || {
        let given = format!("{count} times {} bytes, {stride} apart, from {}", one.bytes, one.start);
        Error::argument("repeated extents", given, "all within 0 and 2^63 - 1")
    };
    let far = i128::from(stride) * (i128::from(count) - 1);
    let start = i128::from(one.start) + far.min(0);
    let end = i128::from(one.end) + far.max(0);
    let limit = i128::from(i64::MAX);
    let bytes = i128::from(one.bytes) * i128::from(count);
    if start < 0 || end > limit || bytes > limit {
        return Err(bad());
    }
    Ok(Summary {
        count: one.count.checked_mul(count).ok_or_else(bad)?,
        bytes: bytes as u64,
        start: start as u64,
        end: end as u64,
        ascending: one.ascending && (count == 1 || i128::from(stride) >= i128::from(one.end) - i128::from(one.start)),
    })
}

/// One strided level of a node: `count` repetitions, with `stride` bytes (may be negative) from the start of one to
/// the start of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) stride: i64,
    pub(super) count: u64,
}

/// The part of a node that is repeated: one extent, or a list or a group with a shift in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    One(Extent),
    /// An encoded list, which takes little memory, and its shift in bytes.
    List(Packed, i64),
    /// A list that is not encoded, which is fast to build and to walk, and its shift in bytes.
    Plain(PlainExtents, i64),
    Group(Arc<NodeGroup>, i64),
}

/// A sequence of nodes that is copied to each of a list of places.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NodeGroup {
    pub(super) nodes: Vec<ListNode>,
    /// The places in sequence, encoded as extents: `offset` is the shift of the first copy in bytes, `len` the number of
    /// copies.
    pub(super) places: Packed,
    /// Number of bytes from a copy to the next copy at the same place.
    pub(super) stride: i64,
}

/// A node of a sequence: a base (an extent, a list or a group) that is repeated along strided levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListNode {
    pub(super) base: Base,
    /// Levels of the repetition, the outermost first.
    pub(super) levels: SmallVec<[Level; 3]>,
}

impl ListNode {
    /// Returns the number of bytes of memory that the node takes beside its own size.
    pub(super) fn memory(&self) -> usize {
        let base = match &self.base {
            Base::One(_) => 0,
            Base::List(packed, _) => packed.encoded_len(),
            Base::Plain(plain, _) => plain.memory(),
            Base::Group(group, _) => {
                let nodes = group.nodes.iter().map(Self::memory).sum::<usize>();
                size_of::<NodeGroup>() + nodes + group.places.encoded_len()
            }
        };
        size_of::<Self>() + base
    }
}

impl NodeGroup {
    /// Returns the shift of each copy in bytes. `by` is the shift of the whole group.
    pub(super) fn copies(&self, by: i64) -> impl Iterator<Item = i64> + '_ {
        self.places.iter().flat_map(move |place| {
            let first = by.wrapping_add(place.offset as i64);
            (0..place.len as i64).map(move |copy| first.wrapping_add(copy.wrapping_mul(self.stride)))
        })
    }
}

/// Iterates over the repetitions of a node, and yields the displacement of each in bytes.
pub(super) struct Odometer<'a> {
    levels: &'a [Level],
    digits: SmallVec<[u64; 3]>,
    at: i64,
    done: bool,
}

impl<'a> Odometer<'a> {
    pub(super) fn new(levels: &'a [Level]) -> Self {
        Self { levels, digits: SmallVec::from_elem(0, levels.len()), at: 0, done: false }
    }
}

impl Iterator for Odometer<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        if self.done {
            return None;
        }
        let here = self.at;
        for (level, digit) in self.levels.iter().zip(&mut self.digits).rev() {
            if *digit + 1 < level.count {
                *digit += 1;
                self.at += level.stride;
                return Some(here);
            }
            self.at -= level.stride * *digit as i64;
            *digit = 0;
        }
        self.done = true;
        Some(here)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in crate::access) fn list(extents: &Extents) -> Vec<(u64, u64)> {
        extents.iter().map(|e| (e.offset, e.len)).collect()
    }

    /// Compares the summary with one computed from the extents.
    pub(in crate::access) fn check_summary(extents: &Extents) {
        let all: Vec<Extent> = extents.iter().collect();
        assert_eq!(extents.count(), all.len() as u64);
        assert_eq!(extents.bytes(), all.iter().map(|e| e.len).sum::<u64>());
        let span = all.iter().map(|e| e.offset).min().zip(all.iter().map(Extent::end).max());
        assert_eq!(extents.span(), span);
        assert_eq!(extents.is_ascending(), all.windows(2).all(|w| w[1].offset >= w[0].end()));
    }

    #[test]
    fn a_list_repeated_is_one_node() {
        let row = Extents::from_list([(3, 2), (0, 1), (9, 0)].map(|(offset, len)| Extent { offset, len })).unwrap();
        let rows = row.repeat(100, 3).unwrap().shift(5).unwrap();
        assert_eq!(list(&rows), [(8, 2), (5, 1), (108, 2), (105, 1), (208, 2), (205, 1)]);
        assert_eq!(rows.nodes.len(), 1);
        check_summary(&rows);
        let both = rows.repeat(-1, 2).unwrap();
        check_summary(&both);
    }

    #[test]
    fn bad_extents_are_refused() {
        assert!(Extents::contiguous(u64::MAX, 1).is_err());
        assert!(Extents::strided(0, 8, -8, 2).is_err());
        let huge = Extent { offset: 0, len: i64::MAX as u64 };
        assert!(Extents::from_list([huge, huge]).is_err(), "a sum that would wrap");
        let mut all = Extents::contiguous(0, huge.len).unwrap();
        assert!(all.push(&all.clone()).is_err());
        assert!(Extents::strided(1 << 40, 8, 1 << 40, 1 << 40).is_err());
    }

    proptest! {
        #[test]
        fn summaries_hold(
            items in prop::collection::vec((0u64..1000, 0u64..50, -60i64..60, 1u64..5), 1..6), outer in 1u64..4
        ) {
            let mut all = Extents::empty();
            for (offset, len, stride, count) in items {
                all.push(&Extents::strided(offset + 1000, len, stride, count).unwrap()).unwrap();
            }
            check_summary(&all);
            check_summary(&all.repeat(500, outer).unwrap());
        }
    }
}
