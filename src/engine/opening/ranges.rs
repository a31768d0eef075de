//! Whether the ranges of ranks overlap. Contributions carry the ranges while there are few of them.

use crate::engine::policy::MAX_RANGES;

/// The ranges of ranks, ascending; adjacent ranges are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankRanges {
    /// RankRanges that do not overlap.
    Disjoint(Vec<(u64, u64)>),
    /// Two of the ranges overlap.
    Overlap,
    /// There are too many ranges to know.
    TooMany,
}

impl RankRanges {
    /// The range of one rank: from its lowest offset to its highest end.
    pub fn of(span: Option<(u64, u64)>) -> Self {
        Self::Disjoint(span.into_iter().collect())
    }

    /// Merges the ranges of other ranks. O(n log n) for n ranges.
    pub fn merge(&mut self, other: Self) {
        let merged = match (std::mem::replace(self, Self::Overlap), other) {
            (Self::Overlap, _) | (_, Self::Overlap) => Self::Overlap,
            (Self::TooMany, _) | (_, Self::TooMany) => Self::TooMany,
            (Self::Disjoint(mut all), Self::Disjoint(other)) => {
                all.extend(other);
                joined(all)
            }
        };
        *self = merged;
    }

    /// Whether no two ranges overlap, if that is known.
    pub fn are_disjoint(&self) -> Option<bool> {
        match self {
            Self::Disjoint(_) => Some(true),
            Self::Overlap => Some(false),
            Self::TooMany => None,
        }
    }

    /// Appends the ranges to `words`.
    pub fn put(&self, words: &mut Vec<u64>) {
        match self {
            Self::Disjoint(all) => {
                words.push(all.len() as u64);
                words.extend(all.iter().flat_map(|&(start, end)| [start, end]));
            }
            Self::Overlap => words.push(u64::MAX),
            Self::TooMany => words.push(u64::MAX - 1),
        }
    }

    /// Reads ranges from `words`.
    pub fn get(words: &mut impl Iterator<Item = u64>) -> Self {
        match words.next() {
            Some(count) if count <= MAX_RANGES as u64 => {
                let mut pair = || words.next().zip(words.next());
                Self::Disjoint((0..count).map_while(|_| pair()).collect())
            }
            Some(u64::MAX) => Self::Overlap,
            _ => Self::TooMany,
        }
    }
}

fn joined(mut all: Vec<(u64, u64)>) -> RankRanges {
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
    if all.len() > MAX_RANGES { RankRanges::TooMany } else { RankRanges::Disjoint(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(spans: &[(u64, u64)]) -> RankRanges {
        let mut all = RankRanges::of(None);
        for &span in spans {
            let mut words = Vec::new();
            RankRanges::of(Some(span)).put(&mut words);
            all.merge(RankRanges::get(&mut words.into_iter()));
        }
        all
    }

    proptest! {
        #[test]
        fn ranges_overlap_if_any_two_do(spans in prop::collection::vec((0u64..500, 1u64..20), 0..20)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, len)| (start, start + len)).collect();
            let apart = (0..spans.len()).all(|a| (0..a).all(|b| spans[a].1 <= spans[b].0 || spans[b].1 <= spans[a].0));
            prop_assert_eq!(merged(&spans).are_disjoint(), Some(apart));
        }
    }

    #[test]
    fn adjacent_ranges_are_one_and_too_many_are_unknown() {
        let dense: Vec<_> = (0..10_000).map(|at| (at * 10, at * 10 + 10)).collect();
        assert_eq!(merged(&dense), RankRanges::Disjoint(vec![(0, 100_000)]));
        let sparse: Vec<_> = (0..300).map(|at| (at * 10, at * 10 + 9)).collect();
        assert_eq!(merged(&sparse).are_disjoint(), None);
    }
}
