//! Marks the bytes of a window that have data, with a bit for each byte.
//!
//! The count of newly set bits is exact even if pieces overlap. So a count equal to the window's size proves a full
//! window without sorting the pieces, and a count below the bytes received proves an overlap. (The number of received
//! bytes alone proves nothing: an overlap may hide a hole of the same size.) Holes are found by scanning words.

use std::collections::TryReserveError;

/// A bitmap over the bytes of one window, up to the last byte with data.
#[derive(Debug, Default)]
pub struct Coverage {
    /// The bits; empty if all `len` bytes are known to have data.
    words: Vec<u64>,
    len: u64,
    covered: u64,
}

impl Coverage {
    /// Removes all marks; keeps the memory of the bits.
    pub fn clear(&mut self) {
        self.words.clear();
        (self.len, self.covered) = (0, 0);
    }

    /// Records that all of `len` bytes have data, without a bit for each. Keeps the memory. Bytes must not be marked
    /// afterwards.
    pub fn fill(&mut self, len: u64) {
        self.words.clear();
        (self.len, self.covered) = (len, len);
    }

    /// Marks the `len` bytes from `from` on as bytes with data.
    ///
    /// # Errors
    /// The system has no memory left.
    #[inline]
    pub fn mark(&mut self, from: u64, len: u64) -> Result<(), TryReserveError> {
        let end = from + len;
        if end > self.len && len > 0 {
            self.grow(end)?;
        }
        let mut at = from;
        while at < end {
            let (word, bit) = ((at / 64) as usize, at % 64);
            let count = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            self.covered += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
            at += count;
        }
        Ok(())
    }

    fn grow(&mut self, end: u64) -> Result<(), TryReserveError> {
        let words = end.div_ceil(64) as usize;
        self.words.try_reserve(words.saturating_sub(self.words.len()))?;
        self.words.resize(words.max(self.words.len()), 0);
        self.len = end;
        Ok(())
    }

    /// Returns the number of bytes with data.
    pub fn covered(&self) -> u64 {
        self.covered
    }

    /// Returns true if bytes have a bit each.
    #[cfg(test)]
    pub fn has_bits(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns true if every byte up to the last one with data has data.
    pub fn is_full(&self) -> bool {
        self.covered == self.len
    }

    /// Returns the ranges with data within `from..to`, ascending.
    pub fn runs(&self, from: u64, to: u64) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        let (mut at, full) = (from, self.is_full());
        std::iter::from_fn(move || {
            let start = if full { (at < to).then_some(at) } else { self.next(at, to, true) }?;
            at = if full { to } else { self.next(start, to, false).unwrap_or(to) };
            Some(start..at)
        })
    }

    /// Returns the first byte in `at..to` that has data (or, if not `wanted`, has none).
    fn next(&self, mut at: u64, to: u64, wanted: bool) -> Option<u64> {
        while at < to {
            let (word, bit) = ((at / 64) as usize, at % 64);
            let bits = if wanted { self.words[word] } else { !self.words[word] } >> bit;
            if bits != 0 {
                let found = at + u64::from(bits.trailing_zeros());
                return (found < to).then_some(found);
            }
            at += 64 - bit;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_full_is_one_run() {
        let mut coverage = Coverage::default();
        coverage.mark(3, 5).unwrap();
        coverage.fill(1000);
        assert_eq!((coverage.covered(), coverage.is_full()), (1000, true));
        assert!(coverage.runs(10, 300).eq(std::iter::once(10..300)));
        assert_eq!(coverage.runs(10, 10).count(), 0);
        coverage.clear();
        coverage.mark(3, 5).unwrap();
        assert!(coverage.runs(0, 8).eq(std::iter::once(3..8)));
    }

    proptest! {
        #[test]
        fn as_a_vector_of_flags(
            len in 1u64..400, marks in prop::collection::vec((0u64..400, 0u64..150), 0..12), from in 0u64..400
        ) {
            let mut coverage = Coverage::default();
            coverage.mark(0, 7).unwrap();
            coverage.clear();
            let mut flags = vec![false; len as usize];
            for (start, count) in marks {
                let start = start.min(len);
                let count = count.min(len - start);
                coverage.mark(start, count).unwrap();
                flags[start as usize..(start + count) as usize].fill(true);
            }
            prop_assert_eq!(coverage.covered, flags.iter().filter(|&&f| f).count() as u64);
            let end = flags.iter().rposition(|&f| f).map_or(0, |last| last + 1);
            prop_assert_eq!(coverage.is_full(), flags[..end].iter().all(|&f| f));
            let (from, len) = (from.min(end as u64), end as u64);
            let mut seen = vec![false; len as usize];
            let mut last = None;
            for run in coverage.runs(from, len) {
                prop_assert!(run.start < run.end && last.is_none_or(|end| end < run.start));
                last = Some(run.end);
                seen[run.start as usize..run.end as usize].fill(true);
            }
            prop_assert_eq!(&seen[from as usize..], &flags[from as usize..end]);
        }
    }
}
