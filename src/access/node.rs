//! A node of a sequence of extents: one extent, a list of extents or a group of nodes, repeated along strided levels.

use std::sync::Arc;

use smallvec::SmallVec;

use super::extent::Extent;
use super::packed::Packed;
use super::plain::PlainExtents;

/// One strided level of a node: `count` repetitions, with `stride` bytes (may be negative) from the start of one to
/// the start of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    pub stride: i64,
    pub count: u64,
}

/// The part of a node that is repeated: one extent, or a list or a group with a shift in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    One(Extent),
    /// An encoded list, which takes little memory, and its shift in bytes.
    List(Packed, i64),
    /// A list that is not encoded, which is fast to build and to walk, and its shift in bytes.
    Plain(PlainExtents, i64),
    Group(Arc<NodeGroup>, i64),
}

/// A sequence of nodes that is copied to each of a list of places.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeGroup {
    pub nodes: Vec<ListNode>,
    /// The places in sequence. In each, `offset` is the shift of the first copy in bytes, and `len` is the number of
    /// copies.
    pub places: Packed,
    /// Number of bytes from a copy to the next copy at the same place.
    pub stride: i64,
}

/// A base that is repeated along levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListNode {
    pub base: Base,
    /// Levels of the repetition, the outermost first.
    pub levels: SmallVec<[Level; 3]>,
}

impl ListNode {
    /// Returns the number of bytes of memory that the node takes beside its own size.
    pub fn memory(&self) -> usize {
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
    pub fn copies(&self, by: i64) -> impl Iterator<Item = i64> + '_ {
        self.places.iter().flat_map(move |place| {
            let first = by.wrapping_add(place.offset as i64);
            (0..place.len as i64).map(move |copy| first.wrapping_add(copy.wrapping_mul(self.stride)))
        })
    }
}

/// Iterates over the repetitions of a node, and yields the displacement of each in bytes.
pub struct Odometer<'a> {
    levels: &'a [Level],
    digits: SmallVec<[u64; 3]>,
    at: i64,
    done: bool,
}

impl<'a> Odometer<'a> {
    pub fn new(levels: &'a [Level]) -> Self {
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
