//! The map of the bytes of a window that are present: a bit for each byte.
//!
//! An aggregator has the map of its window in private memory ([`Coverage`]). Ranks that share windows have one map in
//! shared memory: integers that they change atomically ([`mark_shared`], [`unmark_shared`]). Both use the arithmetic of
//! [`masks`] and [`runs`].

use std::collections::TryReserveError;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A map that marks bytes of a window: bytes with data in a write, wanted bytes in a read.
pub trait Present {
    /// Iterates over the ranges of bytes that are present within `range`, ascending. No two of them are adjacent.
    fn runs(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>>;
}

/// Calls `change` with the index of each integer that has bits of `range`, and with the mask of these bits.
#[inline]
fn masks(range: Range<u64>, mut change: impl FnMut(usize, u64)) {
    let mut at = range.start;
    while at < range.end {
        let bit = at % 64;
        let count = (64 - bit).min(range.end - at);
        change((at / 64) as usize, (u64::MAX >> (64 - count)) << bit);
        at += count;
    }
}

/// Iterates over the runs of ones within `range`, ascending. `word` returns the integer at an index; it is called once
/// for each integer of the range. O(integers + runs).
fn runs(range: Range<u64>, word: impl Fn(usize) -> u64) -> impl Iterator<Item = Range<u64>> {
    let Range { start, end } = range;
    // Position of the first bit of the current integer, and the ones of this integer that no run has yet.
    let mut base = start - start % 64;
    let mut ones = if start < end { word((base / 64) as usize) & (u64::MAX << (start % 64)) } else { 0 };
    std::iter::from_fn(move || {
        while ones == 0 {
            base += 64;
            if base >= end {
                return None;
            }
            ones = word((base / 64) as usize);
        }
        let from = base + u64::from(ones.trailing_zeros());
        if from >= end {
            return None;
        }
        // Adding the lowest one carries to the first zero after the run.
        let carried = ones.wrapping_add(ones & ones.wrapping_neg());
        let mut count = carried.trailing_zeros();
        ones &= carried;
        while count == 64 && base + 64 < end {
            base += 64;
            let next = word((base / 64) as usize);
            count = next.trailing_ones();
            ones = next & next.wrapping_add(1);
        }
        Some(from..(base + u64::from(count)).min(end))
    })
}

/// The map of the bytes of one window in private memory, up to the last byte that is present.
///
/// The count of newly set bits is exact even if pieces overlap. So a count equal to the window's size proves a full
/// window without sorting the pieces, and a count below the bytes received proves an overlap. (The number of received
/// bytes alone proves nothing: an overlap may hide a hole of the same size.)
#[derive(Debug, Default)]
pub struct Coverage {
    /// The bits; empty if all `len` bytes are known to be present.
    bits: Vec<u64>,
    len: u64,
    covered: u64,
}

impl Coverage {
    /// Removes all marks; keeps the memory of the bits.
    pub fn clear(&mut self) {
        self.bits.clear();
        (self.len, self.covered) = (0, 0);
    }

    /// Records that all of `len` bytes are present, without a bit for each. Keeps the memory. Bytes must not be marked
    /// afterwards.
    pub fn fill(&mut self, len: u64) {
        self.bits.clear();
        (self.len, self.covered) = (len, len);
    }

    /// Marks the `len` bytes from `from` on as present.
    ///
    /// # Errors
    /// The system has no memory left.
    #[inline]
    pub fn mark(&mut self, from: u64, len: u64) -> Result<(), TryReserveError> {
        let end = from + len;
        if end > self.len && len > 0 {
            self.grow(end)?;
        }
        let Self { bits, covered, .. } = self;
        masks(from..end, |word, mask| {
            *covered += u64::from((mask & !bits[word]).count_ones());
            bits[word] |= mask;
        });
        Ok(())
    }

    fn grow(&mut self, end: u64) -> Result<(), TryReserveError> {
        let integers = end.div_ceil(64) as usize;
        self.bits.try_reserve(integers.saturating_sub(self.bits.len()))?;
        self.bits.resize(integers.max(self.bits.len()), 0);
        self.len = end;
        Ok(())
    }

    /// Returns the number of bytes that are present.
    pub fn covered(&self) -> u64 {
        self.covered
    }

    /// Returns true if the map has a bit for each byte.
    #[cfg(test)]
    pub fn has_bits(&self) -> bool {
        !self.bits.is_empty()
    }

    /// Returns true if every byte up to the last one that is present is present.
    pub fn is_full(&self) -> bool {
        self.covered == self.len
    }
}

impl Present for Coverage {
    fn runs(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let (full, marked) = if self.is_full() { (range.clone(), range.end..range.end) } else { (0..0, range) };
        let full = (!full.is_empty()).then_some(full);
        full.into_iter().chain(runs(marked, |word| self.bits[word]))
    }
}

/// Marks a range of bytes as present in a map that ranks share. Returns true if some were marked already.
#[inline]
pub fn mark_shared(map: &[AtomicU64], range: Range<u64>) -> bool {
    let mut twice = false;
    masks(range, |word, mask| twice |= map[word].fetch_or(mask, Ordering::AcqRel) & mask != 0);
    twice
}

/// Removes the marks of a range of bytes that no other rank marks meanwhile.
pub fn unmark_shared(map: &[AtomicU64], range: Range<u64>) {
    masks(range, |word, mask| match mask {
        u64::MAX => map[word].store(0, Ordering::Relaxed),
        // The other bits of the integer belong to another window, whose bytes ranks may be marking.
        _ => drop(map[word].fetch_and(!mask, Ordering::AcqRel)),
    });
}

impl Present for [AtomicU64] {
    fn runs(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        runs(range, |word| self[word].load(Ordering::Relaxed))
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
        assert!(coverage.runs(10..300).eq(std::iter::once(10..300)));
        assert_eq!(coverage.runs(10..10).count(), 0);
        coverage.clear();
        coverage.mark(3, 5).unwrap();
        assert!(coverage.runs(0..8).eq(std::iter::once(3..8)));
    }

    /// The runs of flags within a range, found one by one.
    fn expected(flags: &[bool], range: Range<u64>) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for at in range.filter(|&at| flags[at as usize]) {
            match runs.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }

    proptest! {
        #[test]
        fn both_maps_are_as_a_vector_of_flags(
            marks in prop::collection::vec((0u64..400, 0u64..150), 0..12), from in 0u64..550, to in 0u64..550,
            without in (0u64..550, 0u64..200)
        ) {
            let (mut coverage, mut flags) = (Coverage::default(), vec![false; 600]);
            let map: Vec<AtomicU64> = (0..600u64.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
            coverage.mark(0, 7).unwrap();
            coverage.clear();
            for (start, len) in marks {
                let range = start as usize..(start + len) as usize;
                let twice = flags[range.clone()].contains(&true);
                coverage.mark(start, len).unwrap();
                prop_assert_eq!(mark_shared(&map, start..start + len), twice);
                flags[range].fill(true);
            }
            prop_assert_eq!(coverage.covered(), flags.iter().filter(|&&flag| flag).count() as u64);
            let end = flags.iter().rposition(|&flag| flag).map_or(0, |last| last as u64 + 1);
            prop_assert_eq!(coverage.is_full(), !flags[..end as usize].contains(&false));
            prop_assert_eq!(map.runs(from..to).collect::<Vec<_>>(), expected(&flags, from..to));
            let (from, to) = (from.min(end), to.min(end));
            prop_assert_eq!(coverage.runs(from..to).collect::<Vec<_>>(), expected(&flags, from..to));
            let without = without.0..(without.0 + without.1).min(600);
            unmark_shared(&map, without.clone());
            flags[without.start as usize..without.end as usize].fill(false);
            prop_assert_eq!(map.runs(0..600).collect::<Vec<_>>(), expected(&flags, 0..600));
        }
    }
}
