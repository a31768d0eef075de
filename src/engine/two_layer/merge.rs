//! Merges the extents of members into one list, and records the order in which the bytes of the members make up the
//! list.
//!
//! Merging is done once, in the metadata phase. From the order, [`super::node`] finds the positions of each member's
//! bytes in the messages of the rounds. The order compresses as the extents do.

use bytes::Bytes;

use crate::access::pairs::{PairCursor, PairEncoder};
use crate::access::{Extent, Packed};
use crate::drivers::Domains;
use crate::engine::lists::flatten::CoalescingPacker;
use crate::engine::lists::flow::Flow;
use crate::engine::two_layer::overlaps::{Overlaps, shared};

/// Marks the end of a window in the order.
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
    /// Merges the lists of members, window by window: O(extents log extents of a window). If several members have a
    /// byte, the byte of the highest member is used.
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
    /// The next `len` bytes of `member`. They are left out if a higher member has the same bytes, whose step comes
    /// shortly before.
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
