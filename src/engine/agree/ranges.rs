//! Shows if the file ranges of any two ranks overlap. Messages carry the ranges while there are few of them.

use smallvec::SmallVec;
use tributary_base::wire::{Output, Wire};

use crate::engine::choose::MAX_RANGES;

/// Ascending ranges, as (start, end) in bytes. A few of them need no heap memory.
type RangeList = SmallVec<[(u64, u64); 4]>;

/// The file ranges of ranks, ascending; adjacent ranges are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankRanges {
    /// No two of the ranges overlap.
    Disjoint(RangeList),
    /// Two of the ranges overlap.
    Overlap,
    /// Unknown: there are too many ranges.
    TooMany,
}

impl RankRanges {
    /// Collects the ranges of ranks, each from the rank's lowest offset to its highest end, in any order. O(n log n)
    /// for n ranges.
    pub fn from_ranges(ranges: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut all = RangeList::new();
        ranges.for_each(|next| match all.last_mut() {
            Some(last) if last.1 == next.0 => last.1 = next.1,
            _ => all.push(next),
        });
        joined(all)
    }

    /// Merges the ranges of other ranks. O(n log n) for n ranges; O(1) if they are one range after all others.
    pub fn merge(&mut self, other: Self) {
        if let (Self::Disjoint(all), Self::Disjoint(other)) = (&mut *self, &other)
            && let (Some(last), [next]) = (all.last_mut(), &other[..])
            && last.1 <= next.0
        {
            match last.1 == next.0 {
                true => last.1 = next.1,
                false => all.push(*next),
            }
            return;
        }
        *self = match (std::mem::replace(self, Self::Overlap), other) {
            (Self::Overlap, _) | (_, Self::Overlap) => Self::Overlap,
            (Self::TooMany, _) | (_, Self::TooMany) => Self::TooMany,
            (Self::Disjoint(mut all), Self::Disjoint(other)) => {
                all.extend(other);
                joined(all)
            }
        };
    }

    /// Returns true if no two ranges overlap; `None` if this is unknown.
    pub fn are_disjoint(&self) -> Option<bool> {
        match self {
            Self::Disjoint(_) => Some(true),
            Self::Overlap => Some(false),
            Self::TooMany => None,
        }
    }
}

/// Too many ranges are encoded as unknown.
impl Wire for RankRanges {
    const SIZE: Option<usize> = None;

    #[inline]
    fn encode(&self, to: &mut impl Output) {
        match self {
            Self::Disjoint(all) if all.len() <= MAX_RANGES => {
                all.len().encode(to);
                all.iter().for_each(|&(start, end)| [start, end].encode(to));
            }
            Self::Overlap => u64::MAX.encode(to),
            Self::Disjoint(_) | Self::TooMany => (u64::MAX - 1).encode(to),
        }
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        match u64::decode(from)? {
            count if count <= MAX_RANGES as u64 => {
                let ranges = (0..count).map(|_| Wire::decode(from)).collect::<Option<RangeList>>()?;
                // A damaged message may have a range without bytes.
                ranges.iter().all(|(start, end)| start < end).then(|| Self::from_ranges(ranges.into_iter()))
            }
            u64::MAX => Some(Self::Overlap),
            _ => Some(Self::TooMany),
        }
    }
}

fn joined(mut all: RangeList) -> RankRanges {
    if all.len() < 2 {
        return RankRanges::Disjoint(all);
    }
    all.sort_unstable();
    if all.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return RankRanges::Overlap;
    }
    all.dedup_by(|next, kept| {
        let adjoins = kept.1 == next.0;
        if adjoins {
            kept.1 = next.1;
        }
        adjoins
    });
    RankRanges::Disjoint(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tributary_base::wire::{from_bytes, to_bytes};

    use super::*;

    /// Merges the ranges one by one, with an encoding and decoding after each.
    fn merged(spans: &[(u64, u64)]) -> RankRanges {
        let mut all = RankRanges::from_ranges([].into_iter());
        for &span in spans {
            all.merge(RankRanges::from_ranges([span].into_iter()));
            all = from_bytes(&to_bytes(&all)).unwrap();
        }
        all
    }

    proptest! {
        #[test]
        fn ranges_overlap_if_any_two_do(spans in prop::collection::vec((0u64..500, 1u64..20), 0..20)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, len)| (start, start + len)).collect();
            let apart = (0..spans.len()).all(|a| (0..a).all(|b| spans[a].1 <= spans[b].0 || spans[b].1 <= spans[a].0));
            prop_assert_eq!(merged(&spans).are_disjoint(), Some(apart));
            prop_assert_eq!(RankRanges::from_ranges(spans.into_iter()).are_disjoint(), Some(apart));
        }
    }

    #[test]
    fn adjacent_ranges_are_one_and_too_many_are_unknown() {
        let dense: Vec<_> = (0..10_000).map(|at| (at * 10, at * 10 + 10)).collect();
        assert_eq!(merged(&dense), RankRanges::Disjoint([(0, 100_000)].into_iter().collect()));
        let sparse: Vec<_> = (0..300).map(|at| (at * 10, at * 10 + 9)).collect();
        assert_eq!(merged(&sparse).are_disjoint(), None);
        assert_eq!(
            RankRanges::from_ranges(sparse.into_iter()).are_disjoint(),
            Some(true),
            "as long as they are not sent"
        );
    }
}
