//! Whether the ranges of ranks meet: kept while they are few, when what ranks bring is merged.

/// More ranges than these are not kept: then nobody knows from them.
const KEPT: usize = 256;

/// Ranges of ranks, ascending; those that adjoin are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ranges {
    /// These, which do not meet.
    Apart(Vec<(u64, u64)>),
    /// Two of them meet.
    Meet,
    /// They were too many to tell.
    TooMany,
}

impl Ranges {
    /// One rank's: from its lowest offset to its highest end.
    pub fn of(span: Option<(u64, u64)>) -> Self {
        Self::Apart(span.into_iter().collect())
    }

    /// Those of both. O(n log n) of what is kept.
    pub fn merge(&mut self, other: Self) {
        let merged = match (std::mem::replace(self, Self::Meet), other) {
            (Self::Meet, _) | (_, Self::Meet) => Self::Meet,
            (Self::TooMany, _) | (_, Self::TooMany) => Self::TooMany,
            (Self::Apart(mut all), Self::Apart(other)) => {
                all.extend(other);
                joined(all)
            }
        };
        *self = merged;
    }

    /// Whether no two of all ranges meet, if that is known.
    pub fn are_apart(&self) -> Option<bool> {
        match self {
            Self::Apart(_) => Some(true),
            Self::Meet => Some(false),
            Self::TooMany => None,
        }
    }

    /// As words.
    pub fn put(&self, words: &mut Vec<u64>) {
        match self {
            Self::Apart(all) => {
                words.push(all.len() as u64);
                words.extend(all.iter().flat_map(|&(start, end)| [start, end]));
            }
            Self::Meet => words.push(u64::MAX),
            Self::TooMany => words.push(u64::MAX - 1),
        }
    }

    /// From words.
    pub fn get(words: &mut impl Iterator<Item = u64>) -> Self {
        match words.next() {
            Some(count) if count <= KEPT as u64 => {
                let mut pair = || words.next().zip(words.next());
                Self::Apart((0..count).map_while(|_| pair()).collect())
            }
            Some(u64::MAX) => Self::Meet,
            _ => Self::TooMany,
        }
    }
}

fn joined(mut all: Vec<(u64, u64)>) -> Ranges {
    all.sort_unstable();
    if all.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Ranges::Meet;
    }
    all.dedup_by(|next, kept| {
        let adjoins = kept.1 == next.0;
        if adjoins {
            kept.1 = next.1;
        }
        adjoins
    });
    if all.len() > KEPT { Ranges::TooMany } else { Ranges::Apart(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged(spans: &[(u64, u64)]) -> Ranges {
        let mut all = Ranges::of(None);
        for &span in spans {
            let mut words = Vec::new();
            Ranges::of(Some(span)).put(&mut words);
            all.merge(Ranges::get(&mut words.into_iter()));
        }
        all
    }

    proptest! {
        #[test]
        fn ranges_meet_if_any_two_do(spans in prop::collection::vec((0u64..500, 1u64..20), 0..20)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, len)| (start, start + len)).collect();
            let apart = (0..spans.len()).all(|a| (0..a).all(|b| spans[a].1 <= spans[b].0 || spans[b].1 <= spans[a].0));
            prop_assert_eq!(merged(&spans).are_apart(), Some(apart));
        }
    }

    #[test]
    fn ranges_that_adjoin_are_one_and_too_many_are_none() {
        let dense: Vec<_> = (0..10_000).map(|at| (at * 10, at * 10 + 10)).collect();
        assert_eq!(merged(&dense), Ranges::Apart(vec![(0, 100_000)]));
        let sparse: Vec<_> = (0..300).map(|at| (at * 10, at * 10 + 9)).collect();
        assert_eq!(merged(&sparse).are_apart(), None);
    }
}
