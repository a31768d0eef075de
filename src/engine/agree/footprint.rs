//! Footprints of hosts: show whether every host can write, or read, its own bytes without the other hosts.
//!
//! The *footprint* of a host is the extents that its ranks access, merged over small gaps (below a grain). If the
//! footprints of no two hosts overlap, each host can write its own bytes, and the small gaps between them, without the
//! others. This is so in block decompositions whose neighbouring blocks are on one host.

use tributary_base::wire::frame::{self, Encoder, LENGTH};
use tributary_base::wire::{Output, varint};

use crate::access::{Extent, Extents};
use crate::engine::choose::cost::HostPart;
use crate::engine::choose::{FOOTPRINT_BYTES, FOOTPRINT_GAP};
use crate::engine::shared::window_writer::Runs;

/// Value of [`Footprint::host`] after footprints of several hosts were merged.
const SEVERAL: u64 = u64::MAX;

/// The merged footprints of one or more ranks: the ranges of the file that they access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// Number of the host of the ranks, or [`SEVERAL`].
    host: u64,
    /// Ascending ranges that do not overlap, as (start, end) in bytes; `None` if footprints of two hosts overlap, or if
    /// a footprint is unknown.
    ranges: Option<Vec<(u64, u64)>>,
    /// The largest part of one host, if the footprints of several hosts are known.
    most: HostPart,
}

impl Footprint {
    /// Returns the footprint of a rank of `host`. Rounds ranges to whole units of `unit` bytes, which the file system
    /// locks together. O(extents).
    pub fn from_extents(host: usize, file: &Extents, unit: u64) -> Self {
        // An encoded range takes at least two bytes.
        const MOST: usize = FOOTPRINT_BYTES / 2;
        // Extents that are less than a unit apart touch the same units, or neighbours.
        let grain = FOOTPRINT_GAP.max(unit);
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let mut open = (u64::MAX, 0u64);
        file.iter().for_each(|extent| {
            if extent.offset >= open.0 && extent.offset < open.1.saturating_add(grain) {
                open.1 = open.1.max(extent.end());
            } else if ranges.len() <= MOST {
                ranges.push(std::mem::replace(&mut open, (extent.offset, extent.end())));
            }
        });
        if ranges.len() > MOST {
            return Self::unknown(host);
        }
        ranges.push(open);
        ranges.retain(|(start, end)| start < end);
        ranges
            .iter_mut()
            .for_each(|(start, end)| (*start, *end) = (*start - *start % unit, end.next_multiple_of(unit)));
        Self { ranges: Some(united(ranges, FOOTPRINT_GAP)), ..Self::unknown(host) }
    }

    /// Returns the footprint of a rank whose ranges are unknown.
    pub fn unknown(host: usize) -> Self {
        Self { host: host as u64, ranges: None, most: HostPart::default() }
    }

    /// Returns true if the ranges have exactly `bytes` bytes, the number of bytes of all ranks: then every byte of the
    /// ranges has data, unless ranks overlap.
    pub fn is_filled_by(&self, bytes: u64) -> bool {
        self.ranges.as_ref().is_some_and(|ranges| ranges.iter().map(|(start, end)| end - start).sum::<u64>() == bytes)
    }

    /// Returns the ranges, ascending; an empty list if they are unknown.
    pub fn extents(&self) -> Runs {
        self.ranges.iter().flatten().map(|&(start, end)| Extent { offset: start, len: end - start }).collect()
    }

    /// Returns the largest part of one host, if it is certain that the footprints of no two hosts overlap.
    pub fn host_part(&self) -> Option<HostPart> {
        let own = |ranges: &[(u64, u64)]| HostPart {
            runs: ranges.len() as u64,
            bytes: ranges.iter().map(|(start, end)| end - start).sum(),
        };
        self.ranges.as_ref().map(|ranges| if self.host == SEVERAL { self.most } else { own(ranges) })
    }

    /// Merges the footprint of other ranks, of this host or of other hosts. O(n log n) for n ranges.
    pub fn merge(&mut self, other: Self) {
        let same = self.host == other.host && self.host != SEVERAL;
        if let (false, Some(own), Some(others)) = (same, self.host_part(), other.host_part()) {
            self.most = own.max(others);
        }
        self.ranges = self.ranges.take().zip(other.ranges).and_then(|(mut all, other)| {
            all.extend(other);
            let united = match same {
                true => Some(united(all, FOOTPRINT_GAP)),
                false => are_apart(&mut all).then(|| united(all, 0)),
            };
            // The encoding has no room for more ranges, so merging more is useless.
            united.filter(|ranges| ranges.len() <= FOOTPRINT_BYTES)
        });
        if !same {
            self.host = SEVERAL;
        }
    }

    /// Encodes the footprint: its length, and then at most about [`FOOTPRINT_BYTES`] bytes. It is encoded as unknown if it is
    /// longer, or if it would leave room for fewer than `after` bytes.
    pub fn encode(&self, out: &mut Encoder<'_>, after: usize) {
        let mut bytes = Vec::new();
        let known = self.ranges.as_ref().is_some_and(|ranges| {
            let mut at = 0;
            varint::put(&mut bytes, self.host.wrapping_add(1));
            varint::put(&mut bytes, self.most.runs);
            varint::put(&mut bytes, self.most.bytes);
            varint::put(&mut bytes, ranges.len() as u64);
            ranges.iter().all(|&(from, to)| {
                varint::put(&mut bytes, from.wrapping_sub(at));
                varint::put(&mut bytes, to.wrapping_sub(from));
                at = to;
                bytes.len() <= FOOTPRINT_BYTES
            })
        });
        let fits = known && LENGTH + bytes.len() + after <= out.room();
        out.put(&if fits { bytes.len() } else { 0 });
        if fits {
            out.bytes(&bytes);
        }
    }

    /// Decodes a footprint from the front of `from`, and removes its bytes there. Damaged bytes give an unknown footprint.
    pub fn decode(from: &mut &[u8]) -> Self {
        let own = frame::get(from);
        *from = from.get(LENGTH + own.len()..).unwrap_or_default();
        let mut place = 0;
        let mut next = || varint::get(own, &mut place);
        let Some(host) = next().map(|host| host.wrapping_sub(1)) else { return Self::unknown(0) };
        let (Some(runs), Some(bytes)) = (next(), next()) else { return Self::unknown(0) };
        let count = next().filter(|&count| count <= FOOTPRINT_BYTES as u64);
        let mut end = 0u64;
        let mut range = || {
            let from = end.checked_add(next()?)?;
            end = from.checked_add(next()?)?;
            Some((from, end))
        };
        let ranges = count.and_then(|count| (0..count).map(|_| range()).collect());
        Self { host, ranges, most: HostPart { runs, bytes } }
    }
}

/// Sorts ranges. Returns true if no two ranges overlap.
fn are_apart(ranges: &mut [(u64, u64)]) -> bool {
    // Two ascending lists, one after the other: the stable sort merges them.
    ranges.sort();
    ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// Returns the union of ranges, ascending. Merges ranges that touch, overlap, or have a gap below `grain` bytes between
/// them.
fn united(mut ranges: Vec<(u64, u64)>, grain: u64) -> Vec<(u64, u64)> {
    ranges.sort();
    ranges.dedup_by(|next, kept| {
        let joins = next.0 <= kept.1 || next.0 - kept.1 < grain;
        if joins {
            kept.1 = kept.1.max(next.1);
        }
        joins
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extents(pieces: &[(u64, u64)]) -> Extents {
        Extents::from_extents(pieces.iter().map(|&(offset, len)| Extent { offset, len })).unwrap()
    }

    /// Merges the footprints of ranks, each given as (host, pieces), in the order of a real call: first the ranks of
    /// each host, then the hosts.
    fn merged(ranks: &[(usize, Vec<(u64, u64)>)], unit: u64) -> Footprint {
        let mut hosts = std::collections::BTreeMap::<usize, Footprint>::new();
        for (host, pieces) in ranks {
            let mut encoded = vec![0; 2 * FOOTPRINT_BYTES];
            frame::put(&mut encoded, |out| Footprint::from_extents(*host, &extents(pieces), unit).encode(out, 0));
            let own = Footprint::decode(&mut frame::get(&encoded));
            match hosts.entry(*host) {
                std::collections::btree_map::Entry::Occupied(mut all) => all.get_mut().merge(own),
                std::collections::btree_map::Entry::Vacant(none) => drop(none.insert(own)),
            }
        }
        hosts
            .into_values()
            .reduce(|mut all, next| {
                all.merge(next);
                all
            })
            .unwrap()
    }

    /// Returns true if no byte, and no gap below the grain between bytes of one host, belongs to two hosts.
    fn reference(ranks: &[(usize, Vec<(u64, u64)>)]) -> bool {
        let footprints = |host: usize| {
            let own = ranks.iter().filter(|(of, _)| *of == host).flat_map(|(_, pieces)| pieces.iter());
            united(own.map(|&(offset, len)| (offset, offset + len)).collect(), FOOTPRINT_GAP)
        };
        let overlap = |a: (u64, u64), b: (u64, u64)| a.0 < b.1 && b.0 < a.1;
        (0..4).all(|one| {
            (0..one).all(|other| footprints(one).iter().all(|&a| footprints(other).iter().all(|&b| !overlap(a, b))))
        })
    }

    proptest! {
        #[test]
        fn hosts_are_apart_if_no_footprints_overlap(
            ranks in prop::collection::vec((0usize..4, prop::collection::vec((0u64..40, 1u64..3), 0..4)), 1..8)
        ) {
            // Steps of 20,000 bytes: some gaps are below the grain, some above.
            let ranks: Vec<_> = ranks
                .into_iter()
                .map(|(host, mut pieces)| {
                    pieces.sort_unstable();
                    (host, pieces.into_iter().map(|(at, len)| (at * 20_000, len * 9_000)).collect::<Vec<_>>())
                })
                .collect();
            prop_assert_eq!(merged(&ranks, 1).host_part().is_some(), reference(&ranks));
        }
    }

    #[test]
    fn planes_that_hosts_hold_are_apart_and_interleaved_rows_are_not() {
        // Rows of 800 bytes, of which each rank of a host has 200; planes of 40,000 bytes in turn with another host's.
        let rank = |host: u64, column: u64| {
            let row = move |plane: u64, row: u64| ((plane * 2 + host) * 40_000 + row * 800 + column * 200, 200);
            (host as usize, (0..20).flat_map(|plane| (0..50).map(move |at| row(plane, at))).collect::<Vec<_>>())
        };
        let ranks: Vec<_> = (0..8).map(|rank_of| rank(rank_of / 4, rank_of % 4)).collect();
        let all = merged(&ranks, 1);
        assert_eq!(all.ranges, Some(vec![(0, 1_600_000)]), "planes adjoin");
        assert!(merged(&ranks, 65_536).host_part().is_none(), "two hosts have bytes of one stripe");
        let across: Vec<_> =
            (0..8).map(|rank_of| rank(rank_of / 4, rank_of % 4).1).enumerate().map(|(r, p)| (r % 2, p)).collect();
        assert!(merged(&across, 1).host_part().is_none());
    }

    #[test]
    fn too_many_ranges_are_not_known() {
        let far: Vec<_> = (0..10_000).map(|at| (at * 100_000, 8)).collect();
        assert!(merged(&[(0, far.clone())], 1).host_part().is_none());
        assert!(merged(&[(0, far[..500].to_vec())], 1).host_part().is_some());
    }
}
