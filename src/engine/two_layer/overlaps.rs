//! Splits overlapping extents of several members into parts that each member has completely or not at all.

use std::collections::BTreeSet;

use crate::access::Extent;

/// An extent and the member that has it.
pub type OwnedExtent = (Extent, usize);

/// Iterates over groups of ascending extents: an extent that overlaps an earlier one is in its group.
pub struct Overlaps<'a>(&'a [OwnedExtent]);

impl<'a> Overlaps<'a> {
    /// Returns the groups of `ascending` extents.
    pub fn of(ascending: &'a [OwnedExtent]) -> Self {
        Self(ascending)
    }
}

impl<'a> Iterator for Overlaps<'a> {
    type Item = &'a [OwnedExtent];

    #[inline]
    fn next(&mut self) -> Option<&'a [OwnedExtent]> {
        let mut end = self.0.first()?.0.end();
        let behind = self.0[1..].iter().position(|(extent, _)| {
            let apart = extent.offset >= end;
            end = end.max(extent.end());
            apart
        });
        let (overlap, rest) = self.0.split_at(behind.map_or(self.0.len(), |behind| behind + 1));
        self.0 = rest;
        Some(overlap)
    }
}

/// Calls `part(extent, member, is_lower)` for the parts of a group, ascending: for each part first with the highest
/// member that has it, then, with `true`, with each other member that has it. O(parts log members) time. Parts are not
/// stored, because there may be members x pieces of them.
pub fn shared(overlap: &[OwnedExtent], mut part: impl FnMut(Extent, usize, bool)) {
    // (offset, whether it is a begin, member): at one offset, ends sort before begins.
    let ends = overlap.iter().map(|(extent, member)| (extent.end(), false, *member));
    let starts = overlap.iter().map(|(extent, member)| (extent.offset, true, *member));
    let mut changes: Vec<_> = ends.chain(starts).collect();
    changes.sort_unstable();
    let (mut here, mut at) = (BTreeSet::new(), 0);
    for (offset, begins, member) in changes {
        if offset > at {
            let extent = Extent { offset: at, len: offset - at };
            here.iter().rev().enumerate().for_each(|(place, &member)| part(extent, member, place > 0));
            at = offset;
        }
        if begins {
            here.insert(member);
        } else {
            here.remove(&member);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(offset: u64, end: u64) -> Extent {
        Extent { offset, len: end - offset }
    }

    #[test]
    fn adjacent_extents_are_apart_and_overlapping_ones_together() {
        let all = [(extent(0, 5), 0), (extent(5, 9), 1), (extent(6, 7), 0), (extent(8, 12), 2), (extent(20, 21), 0)];
        let sizes: Vec<_> = Overlaps::of(&all).map(<[_]>::len).collect();
        assert_eq!(sizes, [1, 3, 1]);
    }

    #[test]
    fn parts_go_to_the_highest_and_the_others_follow() {
        let overlap = [(extent(0, 10), 1), (extent(4, 8), 0), (extent(6, 14), 2), (extent(8, 9), 0)];
        let expected = [
            (extent(0, 4), 1, false),
            (extent(4, 6), 1, false),
            (extent(4, 6), 0, true),
            (extent(6, 8), 2, false),
            (extent(6, 8), 1, true),
            (extent(6, 8), 0, true),
            (extent(8, 9), 2, false),
            (extent(8, 9), 1, true),
            (extent(8, 9), 0, true),
            (extent(9, 10), 2, false),
            (extent(9, 10), 1, true),
            (extent(10, 14), 2, false),
        ];
        let mut parts = Vec::new();
        shared(&overlap, |extent, member, left_out| parts.push((extent, member, left_out)));
        assert_eq!(parts, expected);
    }
}
