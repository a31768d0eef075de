//! What the nodes of a sequence of extents show by arithmetic where it is regular, and a walk over its extents otherwise: a part
//! of the sequence, and whether it equals another one shifted by some bytes. (Often a time step is the step before, shifted
//! towards the end of the file.)

use crate::error::Result;
use super::Extent;
use super::extents::{Base, Extents, Level, ListNode};
use super::packed::Packer;

impl Extents {
    /// Returns the extents of the `len` bytes of data behind the first `skip` bytes of the sequence, or of fewer
    /// bytes if the sequence ends before. A sequence of runs gives runs, in O(nodes and their levels). Any other
    /// sequence is packed: O(extents before the end of the part).
    pub fn slice(&self, skip: u64, len: u64) -> Self {
        if skip == 0 && len >= self.bytes() {
            return self.clone();
        }
        // A part of the sequence is within the bounds that the sequence was checked for, so no error is lost here.
        self.slice_of_runs(skip, len).and_then(Result::ok).unwrap_or_else(|| self.slice_of_extents(skip, len))
    }

    /// Returns the same as [`Extents::slice`], by arithmetic; `None` if a node is a list or a group.
    fn slice_of_runs(&self, skip: u64, len: u64) -> Option<Result<Self>> {
        let is_run = |node: &ListNode| matches!(node.base, Base::One(_));
        self.nodes.iter().all(is_run).then(|| {
            let (mut before, mut left) = (skip, len);
            let mut all = Self::empty();
            for node in &self.nodes {
                let Base::One(extent) = node.base else { continue };
                let bytes = bytes_of(extent, &node.levels);
                let taken = bytes.saturating_sub(before).min(left);
                if taken > 0 {
                    push_part(&mut all, extent, &node.levels, before, taken)?;
                }
                before = before.saturating_sub(bytes);
                left -= taken;
            }
            Ok(all)
        })
    }

    fn slice_of_extents(&self, skip: u64, len: u64) -> Self {
        let (mut before, mut left) = (skip, len);
        let mut packer = Packer::default();
        let mut last_end = 0;
        for mut extent in self.iter() {
            if before >= extent.len {
                before -= extent.len;
                continue;
            }
            extent = Extent { offset: extent.offset + before, len: (extent.len - before).min(left) };
            before = 0;
            if left == 0 {
                break;
            }
            left -= extent.len;
            last_end = extent.end();
            packer.push(extent);
        }
        Self::from_packed(packer.finish(), last_end)
    }
}

/// Returns the number of bytes of data of an extent that is repeated along levels.
fn bytes_of(extent: Extent, levels: &[Level]) -> u64 {
    extent.len * levels.iter().map(|level| level.count).product::<u64>()
}

/// Appends a part of an extent that is repeated along levels: `len` bytes of its data behind the first `skip` bytes.
fn push_part(all: &mut Extents, extent: Extent, levels: &[Level], skip: u64, len: u64) -> Result<()> {
    let Some((outer, inner)) = levels.split_first() else {
        return all.push(&Extents::contiguous(extent.offset + skip, len)?);
    };
    let copy = bytes_of(extent, inner);
    let (mut at, end) = (skip, skip + len);
    while at < end {
        let (number, within) = (at / copy, at % copy);
        let offset = extent.offset.wrapping_add((outer.stride * number as i64) as u64);
        let moved = Extent { offset, len: extent.len };
        let whole = if within == 0 { (end - at) / copy } else { 0 };
        let taken = if whole > 0 { whole * copy } else { (copy - within).min(end - at) };
        if whole > 0 {
            let one = Extents::contiguous(moved.offset, moved.len)?;
            let one = inner.iter().rev().try_fold(one, |all, level| all.repeat(level.stride, level.count))?;
            all.push(&one.repeat(outer.stride, whole)?)?;
        } else {
            push_part(all, moved, inner, within, taken)?;
        }
        at += taken;
    }
    Ok(())
}

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
    use proptest::prelude::*;

    use crate::access::Extent;
    use crate::access::extents::tests::check_summary;
    use super::*;

    fn check_slice(all: &Extents, skip: u64, len: u64) {
        let bytes = |extents: &Extents| extents.iter().flat_map(|e| e.offset..e.end()).collect::<Vec<_>>();
        let expected: Vec<u64> = bytes(all).into_iter().skip(skip as usize).take(len as usize).collect();
        let part = all.slice(skip, len);
        assert_eq!(bytes(&part), expected, "{len} bytes from {skip} on of {all:?}");
        check_summary(&part);
    }

    #[test]
    fn a_slice_of_a_run_is_runs() {
        let all = Extents::strided(0, 8, 64, 1 << 40).unwrap().repeat(1 << 50, 8).unwrap();
        let part = all.slice(8 * (1 << 39) + 3, 8 * (1 << 40));
        assert_eq!(part.bytes(), 8 * (1 << 40));
        assert!(part.nodes.len() <= 6, "{part:?}");
    }

    proptest! {
        #[test]
        fn a_slice_is_the_bytes_of_the_slice(
            items in prop::collection::vec((0u64..1000, 1u64..5, -60i64..60, 1u64..4, -300i64..300, 1u64..4), 1..4),
            listed: bool, skip in 0u64..60, len in 0u64..60,
        ) {
            let mut all = Extents::empty();
            for (offset, len, stride, count, outer, copies) in items {
                let run = Extents::strided(offset + 2000, len, stride, count).unwrap();
                all.push(&run.repeat(outer, copies).unwrap()).unwrap();
            }
            if listed {
                all = Extents::from_list(all.iter()).unwrap();
            }
            check_slice(&all, skip, len);
        }
    }

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
