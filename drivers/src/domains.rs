//! File domains: the part of the file that each aggregator owns, divided into windows (the part that an aggregator
//! holds in memory in one round).

use tributary_base::Extent;

/// The division of the file among aggregators `0..aggregators`. A look-up takes O(1) (cyclic) or O(log aggregators).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domains {
    /// Stripe `s` belongs to aggregator `s mod aggregators`; a window has `stripes` stripes (main paper, figure 2
    /// (a)).
    Cyclic {
        /// Stripe size in bytes.
        stripe: u64,
        /// Number of aggregators.
        aggregators: u64,
        /// Number of stripes that one aggregator handles in one round.
        stripes: u64,
    },
    /// Aggregator `a` owns bytes `bounds[a]..bounds[a + 1]`, in windows of `window` bytes (main paper, figure 2 (b)).
    /// Bytes beyond the last bound belong to the last aggregator. No rank may write below the first bound: the bytes
    /// would belong to the first aggregator, but their windows would have the same numbers as windows of its range.
    Ranges {
        /// Bounds of the ranges, in bytes: one more than there are aggregators, never descending.
        bounds: Vec<u64>,
        /// Window size in bytes.
        window: u64,
    },
}

/// A window: the part of the file that an aggregator holds in one round. It consists of segments of equal size,
/// `pitch` bytes apart, which are contiguous in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Number of the round; the same for the windows of all aggregators in a round.
    pub index: u64,
    /// Offset of the window's first byte in the file.
    pub start: u64,
    /// Offset past the last byte of the window in the file.
    pub end: u64,
    segment: u64,
    pitch: u64,
}

impl Window {
    /// Returns the size of the window's memory in bytes.
    pub fn len(&self) -> u64 {
        match self.is_empty() {
            true => 0,
            false => self.position(self.end - 1) + 1,
        }
    }

    /// Returns true if the window has no bytes.
    pub fn is_empty(&self) -> bool {
        self.end == self.start
    }

    /// Returns the window without the segments before offset `from` and without all bytes past `to`: the part that must
    /// be in memory if only the bytes `from..to` of the window are written.
    pub fn trimmed(self, from: u64, to: u64) -> Self {
        let end = to.clamp(self.start, self.end);
        if self.segment == self.pitch {
            let start = from.clamp(self.start, end);
            return Self { start, end, segment: end - start, pitch: end - start, ..self };
        }
        let skipped = from.saturating_sub(self.start) / self.pitch;
        Self { start: self.start + skipped * self.pitch, end, ..self }
    }

    /// Returns the window moved by `by` bytes in the file.
    pub fn moved(self, by: i64) -> Self {
        let moved = |offset: u64| offset.wrapping_add(by as u64);
        Self { start: moved(self.start), end: moved(self.end), ..self }
    }

    /// Returns the position in the window's memory of the byte at `offset` of the file.
    #[inline]
    pub fn position(&self, offset: u64) -> u64 {
        let from_start = offset - self.start;
        if from_start < self.segment {
            return from_start;
        }
        from_start / self.pitch * self.segment + from_start % self.pitch
    }

    /// Returns the parts of the file in the window, in the order of memory; adjacent segments are one part.
    pub fn segments(&self) -> impl Iterator<Item = Extent> + use<> {
        let Self { start, end, segment, pitch, .. } = *self;
        let (segment, pitch) = if segment == pitch { (end - start, end - start) } else { (segment, pitch) };
        let part = move |i: u64| start.checked_add(i.checked_mul(pitch)?).filter(|&offset| offset < end);
        (0..).map_while(part).map(move |offset| Extent { offset, len: segment.min(end - offset) })
    }
}

impl Domains {
    /// Divides `start..end` into equal contiguous ranges of whole blocks of `block` bytes. The first ranges get one
    /// block more if the division leaves a remainder.
    pub fn equal_blocks(start: u64, end: u64, block: u64, aggregators: usize, window: u64) -> Self {
        let first = start / block;
        let blocks = end.div_ceil(block).max(first) - first;
        let (each, more) = (blocks / aggregators as u64, blocks % aggregators as u64);
        let bounds = (0..=aggregators as u64).map(|a| (first + a * each + a.min(more)) * block).collect();
        Self::Ranges { bounds, window }
    }

    /// Divides `start..end` into contiguous ranges in which equal numbers of bytes are written. `histogram[i]` bytes
    /// are written in the `i`-th of equal parts of `start..end`. Bounds are interpolated inside a part and rounded to
    /// multiples of `align`.
    pub fn equal_bytes(start: u64, end: u64, histogram: &[u64], align: u64, aggregators: usize, window: u64) -> Self {
        let total: u128 = histogram.iter().map(|&n| u128::from(n)).sum();
        let width = (end - start).div_ceil(histogram.len().max(1) as u64).max(1);
        let mut bounds = vec![start / align * align];
        let (mut part, mut before) = (0, 0u128);
        for a in 1..aggregators as u128 {
            let wanted = total * a / aggregators as u128;
            while part < histogram.len() && before + u128::from(histogram[part]) <= wanted {
                before += u128::from(histogram[part]);
                part += 1;
            }
            let inside = match histogram.get(part) {
                Some(&held) if held > 0 => ((wanted - before) * u128::from(width) / u128::from(held)) as u64,
                _ => 0,
            };
            let bound = (start + part as u64 * width + inside + align / 2) / align * align;
            bounds.push(bound.max(bounds[a as usize - 1]).min(end.next_multiple_of(align)));
        }
        bounds.push(end.next_multiple_of(align).max(bounds[aggregators - 1]));
        Self::Ranges { bounds, window }
    }

    /// Returns these domains with new bounds: aggregator `i` gets the fraction `shares[i]` / (sum of `shares`) of the file,
    /// where each present domain counts as an equal part. Bounds are multiples of `align`, except the first and the last.
    /// Cyclic domains stay as they are, and so do all domains if `shares` has not one share for each aggregator.
    pub fn in_shares(self, shares: &[u32], align: u64) -> Self {
        let Self::Ranges { bounds, window } = self else { return self };
        let (aggregators, align) = (bounds.len() as u64 - 1, align.max(1));
        let all: u64 = shares.iter().map(|&share| u64::from(share)).sum();
        if shares.len() as u64 != aggregators || all == 0 {
            return Self::Ranges { bounds, window };
        }
        let mut before = 0;
        let mut divided = vec![bounds[0]];
        for &share in &shares[..shares.len() - 1] {
            before += u64::from(share);
            // End of this aggregator's part, in units of 1 / `all` of a present domain.
            let at = u128::from(before) * u128::from(aggregators);
            let (domain, inside) = ((at / u128::from(all)) as usize, at % u128::from(all));
            let start = bounds[domain];
            // The end lies past the last domain if all later shares are 0.
            let end = bounds.get(domain + 1).copied().unwrap_or(start);
            let bound = start + (u128::from(end - start) * inside / u128::from(all)) as u64;
            let last = divided[divided.len() - 1];
            divided.push((bound / align * align).clamp(last, bounds[bounds.len() - 1].max(last)));
        }
        divided.push(bounds[bounds.len() - 1]);
        Self::Ranges { bounds: divided, window }
    }

    /// Returns the number of aggregators.
    pub fn aggregators(&self) -> usize {
        match self {
            Self::Cyclic { aggregators, .. } => *aggregators as usize,
            Self::Ranges { bounds, .. } => bounds.len() - 1,
        }
    }

    /// Returns the maximum length of a contiguous part of the file in a window, in bytes.
    pub fn part(&self) -> u64 {
        match self {
            Self::Cyclic { stripe, .. } => *stripe,
            Self::Ranges { window, .. } => *window,
        }
    }

    /// Returns the maximum number of bytes of a window.
    pub fn window_bytes(&self) -> u64 {
        match self {
            Self::Cyclic { stripe, stripes, .. } => stripe * stripes,
            Self::Ranges { window, .. } => *window,
        }
    }

    /// Returns a range that contains all bytes of `start..end` that an aggregator owns.
    pub fn range(&self, aggregator: usize, start: u64, end: u64) -> Extent {
        let (from, to) = match self {
            Self::Cyclic { .. } => (start, end),
            Self::Ranges { bounds, .. } => {
                let is_last = aggregator + 2 == bounds.len();
                (bounds[aggregator].max(start), if is_last { end } else { bounds[aggregator + 1].min(end) })
            }
        };
        Extent { offset: from, len: to.saturating_sub(from) }
    }

    /// Returns the aggregator that owns the byte at `offset`, and the offset where its domain ends.
    pub fn owner(&self, offset: u64) -> (usize, u64) {
        match self {
            Self::Cyclic { aggregators: 1, .. } => (0, u64::MAX),
            Self::Cyclic { stripe, aggregators, .. } => {
                let number = offset / stripe;
                ((number % aggregators) as usize, (number + 1) * stripe)
            }
            Self::Ranges { bounds, .. } => {
                let last = bounds.len() - 2;
                let a = bounds[1..=last].partition_point(|&bound| bound <= offset);
                (a, if a == last { u64::MAX } else { bounds[a + 1] })
            }
        }
    }

    /// Returns the window of `aggregator` that contains the byte at `offset`. The aggregator must own this byte.
    pub fn window(&self, aggregator: usize, offset: u64) -> Window {
        match self {
            Self::Cyclic { stripe, aggregators, stripes } => {
                let pitch = stripe * aggregators;
                let index = offset / pitch / stripes;
                let start = index * stripes * pitch + aggregator as u64 * stripe;
                let end = start + (stripes - 1) * pitch + stripe;
                // One stripe is contiguous, and can be trimmed to any byte.
                let pitch = if *stripes == 1 { *stripe } else { pitch };
                Window { index, start, end, segment: *stripe, pitch }
            }
            Self::Ranges { bounds, window } => {
                let from = if offset < bounds[aggregator] { 0 } else { bounds[aggregator] };
                let index = (offset - from) / window;
                let start = from + index * window;
                let limit = if aggregator + 2 == bounds.len() { u64::MAX } else { bounds[aggregator + 1] };
                let end = start.saturating_add(*window).min(limit);
                Window { index, start, end, segment: end - start, pitch: end - start }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks that every byte from the first bound (0 for cyclic domains) to `end` has one owner, one window of this
    /// owner, and one position in the window, and that the windows of an aggregator follow one another.
    fn check(domains: &Domains, end: u64) {
        let mut last = vec![None; domains.aggregators()];
        let mut offset = match domains {
            Domains::Cyclic { .. } => 0,
            Domains::Ranges { bounds, .. } => bounds[0],
        };
        while offset < end {
            let (a, until) = domains.owner(offset);
            assert!(a < domains.aggregators() && until > offset);
            let window = domains.window(a, offset);
            assert!(window.start <= offset && offset < window.end, "{offset} in {window:?}");
            assert!(window.position(offset) < window.len());
            let mut at = 0;
            let segment = window.segments().find(|s| {
                let inside = s.offset <= offset && offset < s.end();
                at += if inside { offset - s.offset } else { s.len };
                inside
            });
            assert!(segment.is_some(), "{offset} in the segments of {window:?}");
            assert_eq!(at, window.position(offset));
            let trimmed = window.trimmed(offset, offset + 1);
            assert!(trimmed.position(offset) < trimmed.len() && trimmed.len() <= window.len());
            assert_eq!(trimmed.segments().map(|s| s.len).sum::<u64>(), trimmed.len());
            assert_eq!(window.segments().map(|s| s.len).sum::<u64>(), window.len());
            let place = (window.index, window.position(offset));
            assert!(last[a] < Some(place), "{offset}: {place:?} after {:?}", last[a]);
            last[a] = Some(place);
            offset += 1;
        }
    }

    #[test]
    fn paper_figure_2() {
        let lustre = Domains::Cyclic { stripe: 10, aggregators: 3, stripes: 1 };
        assert_eq!(lustre.owner(45), (1, 50));
        assert_eq!(lustre.window(1, 45), Window { index: 1, start: 40, end: 50, segment: 10, pitch: 10 });
        let gpfs = Domains::equal_blocks(0, 90, 10, 3, 10);
        assert_eq!(gpfs.owner(45), (1, 60));
        assert_eq!(gpfs.window(1, 45).index, 1);
    }

    #[test]
    fn equal_bytes_follows_the_data_not_the_range() {
        // 1000 bytes written: 900 in the first tenth, 100 in the last.
        let mut histogram = [0; 10];
        (histogram[0], histogram[9]) = (900, 100);
        let domains = Domains::equal_bytes(0, 1000, &histogram, 1, 3, 16);
        assert_eq!(domains, Domains::Ranges { bounds: vec![0, 37, 74, 1000], window: 16 });
        check(&domains, 1000);
    }

    #[test]
    fn a_share_is_a_part_of_the_whole() {
        let equal = Domains::equal_bytes(0, 4000, &[4000], 10, 4, 16);
        let bounds = vec![0, 1290, 2580, 2700, 4000];
        assert_eq!(equal.clone().in_shares(&[10, 10, 1, 10], 10), Domains::Ranges { bounds, window: 16 });
        assert_eq!(equal.clone().in_shares(&[7; 4], 10), equal);
        let cyclic = Domains::Cyclic { stripe: 10, aggregators: 3, stripes: 1 };
        assert_eq!(cyclic.clone().in_shares(&[1, 2, 3], 10), cyclic);
    }

    #[test]
    fn a_window_of_one_stripe_takes_the_memory_of_its_data() {
        let stripes = |stripes| Domains::Cyclic { stripe: 100, aggregators: 2, stripes }.window(0, 250);
        let one = stripes(1).trimmed(250, 260);
        assert_eq!((one.start, one.end, one.len()), (250, 260, 10));
        let two = stripes(2).trimmed(250, 260);
        assert_eq!((two.start, two.end, two.len()), (200, 260, 60));
    }

    proptest! {
        #[test]
        fn cyclic_windows_tile(stripe in 1u64..9, aggregators in 1u64..6, stripes in 1u64..5) {
            check(&Domains::Cyclic { stripe, aggregators, stripes }, 300);
        }

        #[test]
        fn ranges_tile(start in 0u64..50, len in 0u64..200, block in 1u64..9, aggregators in 1usize..9, window in 1u64..40) {
            check(&Domains::equal_blocks(start, start + len, block, aggregators, window), 300);
        }

        #[test]
        fn shares_tile(
            start in 0u64..50, len in 0u64..200, align in 1u64..9, aggregators in 1usize..9, window in 1u64..40,
            shares in prop::collection::vec(0u32..20, 1..9)
        ) {
            let equal = Domains::equal_blocks(start, start + len, align, aggregators, window);
            let fits = shares.len() == aggregators && shares.iter().any(|&share| share > 0);
            let divided = equal.clone().in_shares(&shares, align);
            prop_assert!(fits || divided == equal);
            check(&divided, 300);
        }

        #[test]
        fn weighted_ranges_tile(
            histogram in prop::collection::vec(0u64..100, 1..20), start in 0u64..50, len in 1u64..200, align in 1u64..9,
            aggregators in 1usize..9
        ) {
            check(&Domains::equal_bytes(start, start + len, &histogram, align, aggregators, 7), 300);
        }
    }
}
