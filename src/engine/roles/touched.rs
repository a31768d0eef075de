//! Counts the windows of a file in which a rank has bytes. `auto` estimates the fan-in from this number before ranks
//! send anything.

use crate::access::{Extent, Extents};
use crate::drivers::Domains;
use crate::engine::policy::LOOKED_AT;

/// Counts the windows in which the extents of a rank have bytes, wherever the file domains begin.
#[derive(Debug, Clone)]
pub struct Touched {
    /// Length in bytes of a part of the file that belongs to one window.
    part: u64,
    /// Number of parts of a window. The parts of one window are as many parts apart as a round has windows.
    parts: u64,
    /// For each window of a round: 1 + the last round in which it had bytes.
    rounds: Vec<u64>,
    /// Range of the part that had the last bytes, in bytes of the file.
    last: (u64, u64),
    /// Number of windows with bytes so far.
    count: u64,
}

impl Touched {
    /// Starts a count of 0 for a file that is divided like `domains`.
    pub fn new(domains: &Domains) -> Self {
        let (part, parts) = (domains.part(), domains.window_bytes() / domains.part());
        let windows = if parts > 1 { domains.aggregators() } else { 1 };
        Self { part, parts, rounds: vec![0; windows], last: (0, 0), count: 0 }
    }

    /// Adds an extent behind the extents added before. O(parts of the file in the extent).
    #[inline]
    pub fn add(&mut self, extent: Extent) {
        if extent.len == 0 || (extent.offset >= self.last.0 && extent.end() <= self.last.1) {
            return;
        }
        let (first, at) = (extent.offset / self.part, (extent.end() - 1) / self.part);
        self.last = (at * self.part, (at + 1).saturating_mul(self.part));
        let windows = self.rounds.len() as u64;
        for part in first..=at {
            let round = part / windows / self.parts + 1;
            let known = &mut self.rounds[(part % windows) as usize];
            self.count += u64::from(*known != round);
            *known = round;
        }
    }

    /// Returns the number of windows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of windows in which an access has bytes. For very many extents, estimates it from the first
    /// extents; the result is at most the number of windows in the range. O(extents), at most a few thousand of them,
    /// and the parts in these.
    pub fn by(mut self, file: &Extents) -> u64 {
        file.iter().take(LOOKED_AT as usize).for_each(|extent| self.add(extent));
        let (all, Some((start, end))) = (file.count(), file.span()) else { return 0 };
        if all <= LOOKED_AT {
            return self.count;
        }
        let like = u128::from(self.count) * u128::from(all) / u128::from(LOOKED_AT);
        u64::try_from(like).unwrap_or(u64::MAX).min(self.between(start, end))
    }

    /// Returns the maximum number of windows in a range of the file.
    fn between(&self, start: u64, end: u64) -> u64 {
        let (first, last) = (start / self.part, end.saturating_sub(1) / self.part);
        let windows = self.rounds.len() as u64;
        let rounds = last / windows / self.parts - first / windows / self.parts + 1;
        (last - first + 1).min(rounds.saturating_mul(windows))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The reference counts byte by byte.
        #[test]
        fn every_window_is_counted_once(
            pieces in prop::collection::vec((0u64..200, 1u64..300), 0..40),
            (stripe, stripes, aggregators) in (1u64..40, 1u64..5, 1u64..6),
            cyclic in any::<bool>(),
        ) {
            let domains = match cyclic {
                true => Domains::Cyclic { stripe, aggregators, stripes },
                false => Domains::Ranges { bounds: vec![0, u64::MAX], window: stripe * stripes },
            };
            let (mut touched, mut windows, mut at) = (Touched::new(&domains), std::collections::BTreeSet::new(), 0);
            for (gap, len) in pieces {
                let extent = Extent { offset: at + gap, len };
                at = extent.end();
                touched.add(extent);
                for byte in extent.offset..extent.end() {
                    let (aggregator, _) = domains.owner(byte);
                    windows.insert((aggregator, domains.window(aggregator, byte).index));
                }
            }
            prop_assert_eq!(touched.count(), windows.len() as u64);
            prop_assert!(touched.between(0, at) >= touched.count());
        }
    }

    /// The estimate is exact if extents are few, or all alike.
    #[test]
    fn the_first_of_many_extents_stand_for_all() {
        let domains = Domains::Cyclic { stripe: 64, aggregators: 4, stripes: 2 };
        for (len, stride, count) in [(8, 64, 3000), (8, 64, 100_000), (8, 1000, 100_000), (60, 61, 50_000)] {
            let file = Extents::strided(5, len, stride, count).unwrap();
            let mut touched = Touched::new(&domains);
            file.iter().for_each(|extent| touched.add(extent));
            let (exact, found) = (touched.count(), Touched::new(&domains).by(&file));
            assert!(found.abs_diff(exact) <= exact / 100, "{found}, not {exact}");
        }
        assert_eq!(Touched::new(&domains).by(&Extents::empty()), 0);
    }
}
