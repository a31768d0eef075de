//! The part of a file that a first exchange writes on its own, so that the times of the aggregators divide the rest.

use super::{FIRST_PART, LEARNED_FROM, WORTH_DIVIDING};
use crate::engine::facts::Amount;

/// Divides the write of `amount` by `aggregators` aggregators in two: returns the parts of the file before and behind an
/// offset, a multiple of `unit`; `None` if the write is too short for that, or if one aggregator writes all. The parts of
/// each rank are not known: numbers but the range are in proportion. The same on all ranks.
pub fn in_two(amount: &Amount, aggregators: usize, unit: u64) -> Option<[Amount; 2]> {
    let aggregators = aggregators as u64;
    if aggregators < 2 || amount.bytes / aggregators < WORTH_DIVIDING {
        return None;
    }
    let bytes = (amount.bytes / FIRST_PART).max(LEARNED_FROM.checked_mul(aggregators)?);
    let len = (u128::from(amount.span()) * u128::from(bytes)).div_ceil(u128::from(amount.bytes));
    let at = amount.start.checked_add(u64::try_from(len).ok()?)?.checked_next_multiple_of(unit.max(1))?;
    (at < amount.end).then(|| [amount.within(amount.start, at), amount.within(at, amount.end)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_write_has_a_short_first_part() {
        let amount =
            |start, span, bytes| Amount { start, end: start + span, bytes, requests: 600, most: 40, touched: 60 };
        let dense = amount(5, 1 << 30, 1 << 30);
        let [first, rest] = in_two(&dense, 4, 4 << 10).unwrap();
        assert_eq!((first.start, first.end, rest.end), (5, (32 << 20) + (4 << 10), dense.end));
        assert_eq!((first.bytes, rest.bytes), (first.span(), rest.span()), "without holes");
        assert!(first.requests < 20 && rest.requests > 580 && first.most >= 1);
        let holes = amount(0, 1 << 40, 256 << 20);
        let [first, rest] = in_two(&holes, 4, 1).unwrap();
        assert!(first.has_holes() && rest.has_holes() && first.bytes >= 4 * LEARNED_FROM, "{first:?}");
        assert_eq!(in_two(&dense, 1, 1), None, "nothing to divide");
        assert_eq!(in_two(&amount(0, 256 << 20, (256 << 20) - 4), 4, 1), None, "too short");
        assert_eq!(in_two(&amount(0, 256 << 20, 256 << 20), 4, 1 << 30), None, "a unit has all");
    }
}
