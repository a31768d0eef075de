//! The windows of an exchange by messages: their size and number follow from the data of the call.

use super::{LEAST_EXCHANGED, MESSAGE_IN_WINDOW, WINDOWS_IN_CALL};
use crate::engine::facts::Amount;

/// Maximum number of windows of an aggregator that are in memory at a time, if no hint sets the number.
const MOST_OPEN: u64 = 8;

/// The windows of aggregators in one call, equal on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeWindows {
    /// Maximum number of bytes of a window.
    pub window: u64,
    /// Number of windows of an aggregator that are in memory at a time: one is filled, others are written, or were read
    /// ahead.
    pub open: usize,
}

impl ExchangeWindows {
    /// Returns the windows of a call in which `ranks` ranks send `amount` to `aggregators` aggregators. An aggregator
    /// has up to two windows of `largest` bytes in memory, or smaller ones that take no more. `unit` bytes lie in one
    /// window if they fit.
    ///
    /// Each aggregator gets several windows, so that it fills one while it writes others; but no more than messages are
    /// worth: a rank sends one for each window in which it has bytes.
    pub fn of(amount: &Amount, (ranks, aggregators): (usize, usize), largest: u64, unit: u64) -> Self {
        let Amount { bytes, .. } = *amount;
        let (range, bytes) = (amount.span().max(1), bytes.max(1));
        // As if each rank had bytes in each window: the windows of the data, with the holes between them.
        let least = MESSAGE_IN_WINDOW.saturating_mul(ranks as u64).max(LEAST_EXCHANGED);
        let least = u128::from(least) * u128::from(range.max(bytes)) / u128::from(bytes);
        let wanted = range.div_ceil(aggregators as u64 * WINDOWS_IN_CALL);
        let window = wanted.max(u64::try_from(least).unwrap_or(u64::MAX)).max(unit).min(largest);
        Self { window, open: (2 * largest / window).clamp(2, MOST_OPEN) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn windows_follow_from_the_data() {
        let of = |span, bytes, ranks, unit| {
            let amount = Amount { start: 0, end: span, bytes, ..Amount::NONE };
            let ExchangeWindows { window, open } = ExchangeWindows::of(&amount, (ranks, 4), 16 * MIB, unit);
            (window, open)
        };
        assert_eq!(of(32 * MIB, 32 * MIB, 16, 1), (MIB, 8), "eight for each aggregator");
        assert_eq!(of(2 * MIB, 2 * MIB, 16, 1), (LEAST_EXCHANGED, 8), "no smaller than a call on the file is worth");
        assert_eq!(of(32 * MIB, 32 * MIB, 256, 1), (4 * MIB, 8), "no smaller than messages are worth");
        assert_eq!(of(32 * MIB, 8 * MIB, 128, 1), (8 * MIB, 4), "holes make windows longer, not messages larger");
        assert_eq!(of(4096 * MIB, 4096 * MIB, 16, 1), (16 * MIB, 2), "no larger than the largest");
        assert_eq!(of(32 * MIB, 32 * MIB, 16, 8 * MIB), (8 * MIB, 4), "what is locked together");
        assert_eq!(of(0, 0, 1, u64::MAX), (16 * MIB, 2), "a unit beyond all windows");
    }
}
