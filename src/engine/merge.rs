//! What a local aggregator makes of its members' extents: one list, and the order in which their bytes follow it.
//!
//! Merging happens once, with the metadata; in the rounds the bytes are only dealt out in the recorded order, without a
//! heap and without looking at offsets. The order compresses as the extents do.

use bytes::Bytes;

use super::flatten::Joining;
use super::flow::Flow;
use crate::access::pairs::{PairCursor, PairEncoder};
use crate::access::{Extent, Packed};
use crate::drivers::Domains;

/// Marks the end of a window in the order.
const END: i64 = -1;

/// The members' extents for one aggregator, merged.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Index of the aggregator.
    pub aggregator: usize,
    /// Extents of the file, ascending, joined, free of overlap.
    pub file: Packed,
    /// Pairs (2 x member + whether to leave the bytes out, length), with [`END`] behind each window's.
    order: Bytes,
}

impl Merged {
    /// Merges the lists of (member, extents), window by window: O(extents log extents in a window). Where members overlap,
    /// the lower offset, then the lower member, stays.
    pub fn of(aggregator: usize, members: &[(usize, Packed)], domains: &Domains) -> Self {
        let mut flows: Vec<_> =
            members.iter().map(|(member, packed)| (*member, Flow::new(aggregator, packed.clone()))).collect();
        let (mut file, mut order) = (Joining::default(), PairEncoder::default());
        let mut extents: Vec<(u64, usize, u64)> = Vec::new();
        let mut covered = 0;
        while let Some(window) = flows.iter().filter_map(|(_, flow)| flow.window(domains)).min_by_key(|w| w.index) {
            for (member, flow) in &mut flows {
                while let Some(extent) = flow.next_in(&window) {
                    extents.push((extent.offset, *member, extent.len));
                }
            }
            extents.sort_unstable();
            for (offset, member, len) in extents.drain(..) {
                let left_out = u64::saturating_sub(covered, offset).min(len);
                if left_out > 0 {
                    order.push((member as i64 * 2 + 1, left_out));
                }
                if len > left_out {
                    order.push((member as i64 * 2, len - left_out));
                    file.push(Extent { offset: offset + left_out, len: len - left_out });
                }
                covered = covered.max(offset + len);
            }
            order.push((END, 0));
        }
        Self { aggregator, file: file.finish(), order: order.finish().into() }
    }
}

/// Deals members' bytes out in the recorded order, a window at a time.
#[derive(Debug, Clone)]
pub struct Dealer {
    order: Bytes,
    cursor: PairCursor,
}

impl Dealer {
    /// At the first window.
    pub fn new(merged: &Merged) -> Self {
        Self { order: merged.order.clone(), cursor: PairCursor::default() }
    }

    /// The next window's merged bytes; `sources[m]` is what member m has for it.
    pub fn deal(&mut self, sources: &mut [Bytes]) -> Bytes {
        let mut out = Vec::with_capacity(sources.iter().map(Bytes::len).sum());
        while let Some((code, len)) = self.cursor.next(&self.order)
            && code != END
        {
            let source = &mut sources[(code / 2) as usize];
            let bytes = source.split_to((len as usize).min(source.len()));
            if code % 2 == 0 {
                out.extend_from_slice(&bytes);
            }
        }
        Bytes::from(out)
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
            let mut dealer = Dealer::new(&merged);
            let mut flows: Vec<_> = members.iter().map(|(_, p)| Flow::new(0, p.clone())).collect();
            let mut whole = Flow::new(0, merged.file.clone());
            let holders = |at: u64| {
                let has = |p: &Packed| p.iter().any(|e| e.offset <= at && at < e.end());
                members.iter().filter(|(_, p)| has(p)).map(|(m, _)| *m as u8).collect::<Vec<_>>()
            };
            let mut seen = 0;
            while let Some(window) = whole.window(&domains) {
                let mut sources: Vec<_> = flows
                    .iter_mut()
                    .enumerate()
                    .map(|(m, flow)| {
                        let here = flow.window(&domains).is_some_and(|w| w.index == window.index);
                        Bytes::from(vec![m as u8; if here { flow.pass(&window).bytes as usize } else { 0 }])
                    })
                    .collect();
                let bytes = dealer.deal(&mut sources);
                prop_assert!(sources.iter().all(Bytes::is_empty), "all bytes of the window are consumed");
                let mut at = 0;
                while let Some(extent) = whole.next_in(&window) {
                    for offset in extent.offset..extent.end() {
                        prop_assert!(holders(offset).contains(&bytes[at]), "byte {}", offset);
                        at += 1;
                        seen += 1;
                    }
                }
                prop_assert_eq!(at, bytes.len());
            }
            prop_assert_eq!(seen, (0..1000).filter(|&at| !holders(at).is_empty()).count());
        }
    }
}
