//! Statistics of request lengths.

use std::collections::BTreeMap;

use serde::Serialize;
use tributary::Extents;

/// Number of requests of each length.
#[derive(Default)]
pub struct Lengths(BTreeMap<u64, u64>);

/// Minimum, median, maximum and histogram of request lengths.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sizes {
    /// Length of the shortest request, in bytes.
    pub min: u64,
    /// Median length (the lower of two), in bytes.
    pub median: u64,
    /// Length of the longest request, in bytes.
    pub max: u64,
    /// Classes of lengths, ascending; each extends from a power of two to the next.
    pub histogram: Vec<Class>,
}

/// Requests of about the same length: one class of the histogram.
#[derive(Debug, Clone, Serialize)]
pub struct Class {
    /// Minimum length in the class, in bytes.
    pub from: u64,
    /// Maximum length in the class, in bytes.
    pub to: u64,
    /// Number of requests in the class.
    pub requests: u64,
    /// Number of bytes of all requests in the class.
    pub bytes: u64,
}

impl Lengths {
    /// Adds the lengths of a list of extents. O(extents); consecutive extents of the same length cost one search.
    pub fn add(&mut self, list: &Extents) {
        let mut run = (0, 0);
        for extent in list.iter() {
            if extent.len != run.0 {
                self.count(run);
                run = (extent.len, 0);
            }
            run.1 += 1;
        }
        self.count(run);
    }

    fn count(&mut self, (len, times): (u64, u64)) {
        if times > 0 {
            *self.0.entry(len).or_default() += times;
        }
    }

    /// Returns minimum, median, maximum and histogram.
    pub fn sizes(&self) -> Sizes {
        let half = self.0.values().sum::<u64>().div_ceil(2);
        let mut before = 0;
        let median = self.0.iter().find(|(_, times)| {
            before += *times;
            before >= half
        });
        let end = |entry: Option<(&u64, &u64)>| entry.map_or(0, |(len, _)| *len);
        let (min, median, max) = (end(self.0.iter().next()), end(median), end(self.0.iter().next_back()));
        Sizes { min, median, max, histogram: self.histogram() }
    }

    /// Returns the classes from the shortest to the longest request, including classes without requests.
    fn histogram(&self) -> Vec<Class> {
        let power = |len: u64| len.max(1).ilog2();
        let (Some(first), Some(last)) = (self.0.keys().next(), self.0.keys().next_back()) else { return Vec::new() };
        let lengths = |power: u32| (1u64 << power, u64::MAX >> (63 - power));
        let mut classes: Vec<Class> = (power(*first)..=power(*last))
            .map(lengths)
            .map(|(from, to)| Class { from, to, requests: 0, bytes: 0 })
            .collect();
        for (&len, &times) in &self.0 {
            let class = &mut classes[(power(len) - power(*first)) as usize];
            class.requests += times;
            class.bytes = class.bytes.saturating_add(len.saturating_mul(times));
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary::Extent;

    #[test]
    fn lengths_have_a_median_and_classes() {
        let mut lengths = Lengths::default();
        let list = [(0, 1), (10, 3), (20, 3), (30, 16), (60, 31)].map(|(offset, len)| Extent { offset, len });
        lengths.add(&Extents::from_list(list).unwrap());
        let sizes = lengths.sizes();
        assert_eq!((sizes.min, sizes.median, sizes.max), (1, 3, 31));
        let classes: Vec<_> = sizes.histogram.iter().map(|class| (class.from, class.to, class.requests)).collect();
        assert_eq!(classes, [(1, 1, 1), (2, 3, 2), (4, 7, 0), (8, 15, 0), (16, 31, 2)]);
    }

    #[test]
    fn no_request_has_no_class() {
        assert!(Lengths::default().sizes().histogram.is_empty());
        let mut lengths = Lengths::default();
        lengths.count((u64::MAX, 1));
        assert_eq!(lengths.sizes().histogram[0].to, u64::MAX);
    }
}
