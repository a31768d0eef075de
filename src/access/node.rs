//! A node of a sequence of extents: one extent or one packed list, repeated along strided levels.

use smallvec::SmallVec;

use super::extent::Extent;
use super::packed::{Packed, PackedIter};

/// One strided level of a node: `count` repetitions, `stride` bytes apart (which may be negative).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    pub stride: i64,
    pub count: u64,
}

/// What a node repeats: one extent, or a list some way further on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    One(Extent),
    List(Packed, i64),
}

/// A base, repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub base: Base,
    /// Outermost first.
    pub levels: SmallVec<[Level; 3]>,
}

impl Node {
    /// The node's extents in sequence.
    pub fn iter(&self) -> impl Iterator<Item = Extent> + '_ {
        Odometer::new(&self.levels).flat_map(|by| self.base.iter(by))
    }
}

impl Base {
    #[inline]
    fn iter(&self, by: i64) -> BaseIter<'_> {
        match self {
            Self::One(extent) => BaseIter::One(Some(moved(*extent, by))),
            Self::List(packed, shift) => BaseIter::List(packed.iter(), by + *shift),
        }
    }
}

enum BaseIter<'a> {
    One(Option<Extent>),
    List(PackedIter<'a>, i64),
}

impl Iterator for BaseIter<'_> {
    type Item = Extent;

    #[inline]
    fn next(&mut self) -> Option<Extent> {
        match self {
            Self::One(extent) => extent.take(),
            Self::List(list, shift) => list.next().map(|extent| moved(extent, *shift)),
        }
    }
}

#[inline]
fn moved(extent: Extent, by: i64) -> Extent {
    Extent { offset: extent.offset.wrapping_add(by as u64), len: extent.len }
}

/// Counts through the levels of a node; yields each repetition's displacement.
struct Odometer<'a> {
    levels: &'a [Level],
    digits: SmallVec<[u64; 3]>,
    at: i64,
    done: bool,
}

impl<'a> Odometer<'a> {
    fn new(levels: &'a [Level]) -> Self {
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
