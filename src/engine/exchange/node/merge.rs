//! Merges the extents of a local aggregator's members.
//!
//! The metadata phase merges the extents once, into one list for each aggregator. It records the order in which the members'
//! bytes follow one another in this list. The positions of a member's bytes in the messages of the rounds follow from the
//! order. The order compresses as well as the extents. Overlapping extents of several members are split into parts that each
//! member has completely or not at all ([`shared`]).

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::access::pairs::{PairCursor, PairEncoder};
use crate::access::{Extent, Packed};
use crate::drivers::Domains;
use crate::engine::exchange::flatten::CoalescingPacker;
use crate::engine::exchange::lists::Flow;
use crate::topology::Rank;
use crate::world;

/// Lists of extents, each with the index of its aggregator, ascending.
pub type ListsByAggregator = Vec<(usize, Packed)>;

/// The lists that a local aggregator has merged.
#[derive(Debug, Clone, Default)]
pub struct LocalPlan {
    /// The local aggregator's members with data, ascending, and the lists of each.
    pub members: Vec<(Rank, ListsByAggregator)>,
    /// The merged list for each aggregator, ascending by aggregator. Members are indices into `members`.
    pub merged: Vec<Merged>,
}

/// Marks the end of a window in [`Merged::order`].
const END: i64 = -1;

/// The extents of all members of a local aggregator for one aggregator, merged.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Extents of the file, ascending, coalesced, without overlaps.
    pub file: Packed,
    /// Encoded pairs (2 x member, plus 1 if the bytes are left out; length). After the pairs of each window follows a
    /// pair with [`END`].
    order: Bytes,
}

impl Merged {
    /// Merges the lists of members, window by window: O(extents log extents of a window). If several members have a byte, the
    /// byte of the member with the highest index is used.
    pub fn of(aggregator: usize, members: &[(usize, Packed)], domains: &Domains) -> Self {
        let mut flows: Vec<_> =
            members.iter().map(|(member, packed)| (*member, Flow::new(aggregator, packed.clone()))).collect();
        let (mut file, mut order) = (CoalescingPacker::default(), PairEncoder::default());
        let mut extents: Vec<(Extent, usize)> = Vec::new();
        while let Some(window) = flows.iter().filter_map(|(_, flow)| flow.window(domains)).min_by_key(|w| w.index) {
            for (member, flow) in &mut flows {
                while let Some(extent) = flow.next_in(&window) {
                    extents.push((extent, *member));
                }
            }
            extents.sort_unstable();
            world::work(extents.len() as u64 * (1 + u64::from(members.len().ilog2())), 0);
            for overlap in Overlaps::of(&extents) {
                if let &[(extent, member)] = overlap {
                    order.push((member as i64 * 2, extent.len));
                    file.push(extent);
                    continue;
                }
                shared(overlap, |extent, member, left_out| {
                    order.push((member as i64 * 2 + i64::from(left_out), extent.len));
                    if !left_out {
                        file.push(extent);
                    }
                });
            }
            extents.clear();
            order.push((END, 0));
        }
        Self { aggregator, file: file.finish(), order: order.finish().into() }
    }
}

/// A step of the recorded order of bytes in a merged list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// The next `len` bytes of `member`. They are left out if a member with a higher index has the same bytes; that member's
    /// step comes shortly before.
    Bytes {
        /// Index of the member.
        member: usize,
        /// Number of bytes.
        len: u64,
        /// True if the bytes are left out.
        left_out: bool,
    },
    /// The end of a window.
    End,
}

impl Merged {
    /// Iterates over the steps of the recorded order: whose bytes come next in the merged list.
    pub fn parts(&self) -> impl Iterator<Item = MergeStep> {
        let mut cursor = PairCursor::default();
        std::iter::from_fn(move || {
            let (code, len) = cursor.next(&self.order)?;
            let bytes = MergeStep::Bytes { member: (code / 2) as usize, len, left_out: code % 2 == 1 };
            Some(if code == END { MergeStep::End } else { bytes })
        })
    }
}

/// An extent and the member that has it.
type OwnedExtent = (Extent, usize);

/// Iterates over groups of ascending extents: an extent that overlaps an earlier one is in its group.
struct Overlaps<'a>(&'a [OwnedExtent]);

impl<'a> Overlaps<'a> {
    /// Returns the groups of `ascending` extents.
    fn of(ascending: &'a [OwnedExtent]) -> Self {
        Self(ascending)
    }
}

impl<'a> Iterator for Overlaps<'a> {
    type Item = &'a [OwnedExtent];

    #[inline]
    fn next(&mut self) -> Option<&'a [OwnedExtent]> {
        let mut end = self.0.first()?.0.end();
        let last = self.0[1..].iter().position(|(extent, _)| {
            let apart = extent.offset >= end;
            end = end.max(extent.end());
            apart
        });
        let (overlap, rest) = self.0.split_at(last.map_or(self.0.len(), |last| last + 1));
        self.0 = rest;
        Some(overlap)
    }
}

/// Calls `part(extent, member, is_lower)` for the parts of a group, ascending: for each part first with the highest
/// member that has it, then, with `true`, with each other member that has it. O(parts log members) time. Parts are not
/// stored, because there may be members x pieces of them.
fn shared(overlap: &[OwnedExtent], mut part: impl FnMut(Extent, usize, bool)) {
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
