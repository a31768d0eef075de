//! Which bytes of a window have been placed: a bit for each.
//!
//! The count of newly set bits is exact whatever overlaps, so "as many bytes as the window holds" proves a full window
//! without sorting or merging the pieces (bytes received alone would not: two ranks that write the same bytes hide a
//! hole of that size). Marking costs an eighth of the copying it accompanies; holes are found by scanning words.

use std::collections::TryReserveError;

/// A bitmap over the bytes of one window.
#[derive(Debug, Default)]
pub struct Coverage {
    words: Vec<u64>,
    len: u64,
    covered: u64,
}

impl Coverage {
    /// Nothing covered of `len` bytes; keeps its memory.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub fn reset(&mut self, len: u64) -> Result<(), TryReserveError> {
        self.words.clear();
        self.words.try_reserve_exact(len.div_ceil(64) as usize)?;
        self.words.resize(len.div_ceil(64) as usize, 0);
        (self.len, self.covered) = (len, 0);
        Ok(())
    }

    /// Bytes `from..from + len` are there.
    #[inline]
    pub fn mark(&mut self, from: u64, len: u64) {
        let end = from + len;
        let mut at = from;
        while at < end {
            let (word, bit) = ((at / 64) as usize, at % 64);
            let count = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            self.covered += u64::from((mask & !self.words[word]).count_ones());
            self.words[word] |= mask;
            at += count;
        }
    }

    /// Whether no byte is missing.
    pub fn is_full(&self) -> bool {
        self.covered == self.len
    }

    /// The covered ranges within `from..to`, ascending.
    pub fn runs(&self, from: u64, to: u64) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        let mut at = from;
        std::iter::from_fn(move || {
            let start = self.next(at, to, true)?;
            at = self.next(start, to, false).unwrap_or(to);
            Some(start..at)
        })
    }

    /// The first byte at or behind `at`, before `to`, that is covered (or is not).
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

    proptest! {
        #[test]
        fn as_a_vector_of_flags(
            len in 1u64..400, marks in prop::collection::vec((0u64..400, 0u64..150), 0..12), from in 0u64..400
        ) {
            let mut coverage = Coverage::default();
            coverage.reset(len).unwrap();
            let mut flags = vec![false; len as usize];
            for (start, count) in marks {
                let start = start.min(len);
                let count = count.min(len - start);
                coverage.mark(start, count);
                flags[start as usize..(start + count) as usize].fill(true);
            }
            prop_assert_eq!(coverage.covered, flags.iter().filter(|&&f| f).count() as u64);
            prop_assert_eq!(coverage.is_full(), flags.iter().all(|&f| f));
            let from = from.min(len);
            let mut seen = vec![false; len as usize];
            let mut last = None;
            for run in coverage.runs(from, len) {
                prop_assert!(run.start < run.end && last.is_none_or(|end| end < run.start));
                last = Some(run.end);
                seen[run.start as usize..run.end as usize].fill(true);
            }
            prop_assert_eq!(&seen[from as usize..], &flags[from as usize..]);
        }
    }
}
