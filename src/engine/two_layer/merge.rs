//! Merges the extents of members: one list, and the order in which the members' bytes follow it.
//!
//! Merging is done once, in the metadata phase. In the rounds, bytes are copied in the recorded order, without a heap and without
//! offsets. The order compresses as the extents do. A read uses it in the other direction.

use bytes::Bytes;

use crate::access::pairs::{PairCursor, PairEncoder};
use crate::access::{Extent, Packed};
use crate::drivers::Domains;
use crate::engine::lists::flatten::CoalescingPacker;
use crate::engine::lists::flow::Flow;
use crate::engine::two_layer::overlaps::{Overlaps, shared};

/// Marks the end of a window in the order.
const END: i64 = -1;

/// The members' extents for one aggregator, merged.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Extents of the file, ascending, coalesced, without overlaps.
    pub file: Packed,
    /// Pairs (2 x member + whether to leave the bytes out, length), with [`END`] behind those of each window.
    order: Bytes,
}

impl Merged {
    /// Merges the lists of members, window by window: O(extents log extents of a window). Of bytes that several members have,
    /// the highest member's stay.
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

/// A step of the recorded order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeStep {
    /// The next `len` bytes of `member`. They are left out if the same bytes of a higher member, which come directly before,
    /// stay.
    Bytes {
        /// Index of the member.
        member: usize,
        /// Bytes.
        len: u64,
        /// Whether they are left out.
        left_out: bool,
    },
    /// The window ends.
    End,
}

impl Merged {
    /// The recorded order, step by step.
    pub fn parts(&self) -> impl Iterator<Item = MergeStep> {
        let mut cursor = PairCursor::default();
        std::iter::from_fn(move || {
            let (code, len) = cursor.next(&self.order)?;
            let bytes = MergeStep::Bytes { member: (code / 2) as usize, len, left_out: code % 2 == 1 };
            Some(if code == END { MergeStep::End } else { bytes })
        })
    }
}

/// Copies members' bytes in the recorded order, a window at a time.
#[derive(Debug, Clone)]
pub struct Merger {
    order: Bytes,
    cursor: PairCursor,
}

impl Merger {
    /// A merger before the first window.
    pub fn new(merged: &Merged) -> Self {
        Self { order: merged.order.clone(), cursor: PairCursor::default() }
    }

    /// The next window's merged bytes. `sources[m]` are the bytes of member m for it, all of which are consumed.
    pub fn merge(&mut self, sources: &mut [&[u8]]) -> Bytes {
        let mut out = Vec::with_capacity(sources.iter().map(|source| source.len()).sum());
        while let Some((code, len)) = self.cursor.next(&self.order)
            && code != END
        {
            let source = &mut sources[(code / 2) as usize];
            let (bytes, rest) = source.split_at((len as usize).min(source.len()));
            *source = rest;
            if code % 2 == 0 {
                out.extend_from_slice(bytes);
            }
        }
        Bytes::from(out)
    }

    /// The inverse: splits the next window's merged bytes into those that each of `members` members wants. Bytes that are left
    /// out in a write are copied from the member directly before. `None` if `merged` does not have the window's size.
    pub fn split(&mut self, merged: &[u8], members: usize) -> Option<Vec<Vec<u8>>> {
        let mut out = vec![Vec::new(); members];
        let mut at = 0;
        while let Some((code, len)) = self.cursor.next(&self.order)
            && code != END
        {
            if code % 2 == 0 {
                at += len as usize;
            }
            out[(code / 2) as usize].extend_from_slice(merged.get(at.checked_sub(len as usize)?..at)?);
        }
        (at == merged.len()).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merged_bytes_are_one_of_the_members(
            lists in prop::collection::vec(prop::collection::vec((0u64..30, 1u64..12), 0..12), 1..5),
            window in 8u64..64
        ) {
            let domains = Domains::Ranges { bounds: vec![0, 1000], window };
            // Ascending, free of overlap, as flattening makes them; a byte's value names its member.
            let mut members = Vec::new();
            for (member, list) in lists.iter().enumerate() {
                let mut at = 0;
                let extents = list.iter().map(|&(gap, len)| {
                    at += gap + len;
                    Extent { offset: at - len, len }
                });
                members.push((member, extents.collect::<Packed>()));
            }
            let merged = Merged::of(0, &members, &domains);
            prop_assert!(merged.file.summary().ascending);
            let mut merger = Merger::new(&merged);
            let mut flows: Vec<_> = members.iter().map(|(_, p)| Flow::new(0, p.clone())).collect();
            let mut reading = flows.clone();
            let mut whole = Flow::new(0, merged.file.clone());
            let highest = |at: u64| {
                let has = |p: &Packed| p.iter().any(|e| e.offset <= at && at < e.end());
                members.iter().rev().find(|(_, p)| has(p)).map(|(m, _)| *m as u8)
            };
            let mut back = Merger::new(&merged);
            let mut seen = 0;
            while let Some(window) = whole.window(&domains) {
                let own: Vec<_> = flows
                    .iter_mut()
                    .enumerate()
                    .map(|(m, flow)| {
                        let here = flow.window(&domains).is_some_and(|w| w.index == window.index);
                        vec![m as u8; if here { flow.pass(&window).bytes as usize } else { 0 }]
                    })
                    .collect();
                let mut sources: Vec<_> = own.iter().map(Vec::as_slice).collect();
                let bytes = merger.merge(&mut sources);
                prop_assert!(sources.iter().all(|source| source.is_empty()), "all bytes of the window are consumed");
                let mut offsets = Vec::new();
                while let Some(extent) = whole.next_in(&window) {
                    offsets.extend(extent.offset..extent.end());
                }
                prop_assert_eq!(offsets.len(), bytes.len());
                for (&offset, &byte) in offsets.iter().zip(&bytes) {
                    prop_assert_eq!(highest(offset), Some(byte), "byte {}", offset);
                    seen += 1;
                }
                // Backwards, with the low byte of its offset as the value of a byte.
                let read: Vec<u8> = offsets.iter().map(|&offset| offset as u8).collect();
                for (m, got) in back.split(&read, members.len()).unwrap().into_iter().enumerate() {
                    let mut wanted = Vec::new();
                    while let Some(extent) = reading[m].next_in(&window) {
                        wanted.extend((extent.offset..extent.end()).map(|offset| offset as u8));
                    }
                    prop_assert_eq!(got, wanted, "member {}", m);
                }
            }
            prop_assert_eq!(seen, (0..1000).filter(|&at| highest(at).is_some()).count());
        }
    }
}
