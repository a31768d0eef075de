//! Finds out whether one sequence of extents equals another one shifted by some bytes. Often a time step is the step
//! before, shifted towards the end of the file.

use super::extents::Extents;
use super::extents::{Base, ListNode};

impl Extents {
    /// Returns the number of bytes by which every extent of this sequence is shifted against `before` (negative:
    /// towards the start of the file). `None` if the sequences differ in more than such a shift. O(encoded size) if
    /// both were built in the same way, O(extents) otherwise.
    pub fn shift_from(&self, before: &Self) -> Option<i64> {
        let (now, then) = (&self.summary, &before.summary);
        let by = now.start.wrapping_sub(then.start) as i64;
        let is_alike = (now.count, now.bytes, now.ascending) == (then.count, then.bytes, then.ascending)
            && now.end.wrapping_sub(then.end) as i64 == by;
        if !is_alike {
            return None;
        }
        if now.count == 0 {
            return Some(0);
        }
        let is_made_alike = self.nodes.len() == before.nodes.len()
            && self.nodes.iter().zip(&before.nodes).all(|(own, other)| is_shifted(own, other, by));
        let is_shifted = is_made_alike
            || self
                .iter()
                .zip(before.iter())
                .all(|(own, other)| own.len == other.len && own.offset == other.offset.wrapping_add(by as u64));
        is_shifted.then_some(by)
    }
}

/// Returns true if node `own` is node `other` shifted by `by` bytes. May return false for equal extents that are
/// stored in different ways.
fn is_shifted(own: &ListNode, other: &ListNode, by: i64) -> bool {
    own.levels == other.levels
        && match (&own.base, &other.base) {
            (Base::One(own), Base::One(other)) => {
                own.len == other.len && own.offset == other.offset.wrapping_add(by as u64)
            }
            (Base::List(own, at), Base::List(other, from)) => at.wrapping_sub(*from) == by && own == other,
            (Base::Plain(own, at), Base::Plain(other, from)) => at.wrapping_sub(*from) == by && own == other,
            (Base::Group(own, at), Base::Group(other, from)) => at.wrapping_sub(*from) == by && own == other,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Extent;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shift_is_found(
            list in prop::collection::vec((0u64..500, 1u64..9), 0..12), by in 0u64..300, listed: bool, other in 0usize..12,
        ) {
            let extents = |by: u64| list.iter().map(move |&(offset, len)| Extent { offset: offset + by, len });
            let before = Extents::from_list(extents(0)).unwrap();
            // Built from other offsets, or shifted as a whole.
            let after = if listed { Extents::from_list(extents(by)).unwrap() } else { before.clone().shift(by).unwrap() };
            let due = if list.is_empty() { 0 } else { by as i64 };
            prop_assert_eq!(after.shift_from(&before), Some(due));
            prop_assert_eq!(before.shift_from(&after), Some(-due));
            if let Some(extent) = list.get(other) {
                let mut changed = list.clone();
                changed[other] = (extent.0 + 1, extent.1);
                let changed = Extents::from_list(changed.iter().map(|&(offset, len)| Extent { offset, len })).unwrap();
                prop_assert!(list.len() == 1 || changed.shift_from(&before).is_none());
            }
        }
    }

    #[test]
    fn shifts_of_runs_are_found_without_walking_them() {
        let run = Extents::strided(0, 8, 64, 1 << 40).unwrap();
        assert_eq!(run.clone().shift(72).unwrap().shift_from(&run), Some(72));
        assert_eq!(Extents::strided(0, 8, 72, 4).unwrap().shift_from(&Extents::strided(0, 8, 64, 4).unwrap()), None);
    }
}
