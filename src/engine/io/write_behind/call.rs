//! The collective write that runs on a file: where its ranks write, and for which of its bytes another rank must wait. Also
//! the ranges of earlier collective writes, on which all ranks have agreed, without the parts that this rank has written
//! itself. In these ranges, other ranks may have bytes that this rank must wait for.

use std::ops::Range;

/// Names a collective write on a file.
#[derive(Debug, Clone, Copy)]
pub struct CallOnFile {
    /// The name that the caller gave the call, such as the MPI function.
    pub name: &'static str,
    /// Its number among the collective writes on the file, from 1.
    pub number: u64,
}

/// The facts that ranks have agreed on about a collective write.
#[derive(Debug, Clone, Copy)]
pub struct AgreedWrite {
    /// Start and end of the range of the file that the ranks write.
    pub range: (u64, u64),
    /// True if some ranks have written their bytes before the agreement.
    pub has_early: bool,
    /// True if the ranks repeat writes that some of them made before the agreement, because ranks overlap.
    pub is_repeated: bool,
    /// True if several ranks may write the same byte, each by itself.
    pub may_overlap: bool,
}

/// A collective write that runs.
#[derive(Debug, Clone, Copy)]
pub struct RunningCall {
    /// Name and number of the call.
    pub name: CallOnFile,
    agreed: AgreedWrite,
    is_agreed: bool,
}

impl RunningCall {
    /// Returns a call about which the ranks have agreed on nothing: it may write anywhere.
    pub fn new(name: CallOnFile) -> Self {
        let agreed = AgreedWrite { range: (0, u64::MAX), has_early: true, is_repeated: false, may_overlap: false };
        Self { name, agreed, is_agreed: false }
    }

    /// Adds facts that the ranks have agreed on; the ranks of a host agree on a part of the call later.
    pub fn agree(&mut self, agreed: AgreedWrite) {
        if !self.is_agreed {
            (self.agreed, self.is_agreed) = (agreed, true);
            return;
        }
        self.agreed.has_early |= agreed.has_early;
        self.agreed.is_repeated |= agreed.is_repeated;
        self.agreed.may_overlap |= agreed.may_overlap;
    }

    /// Notes that the ranks repeat the writes of the call.
    pub fn repeat(&mut self) {
        self.agreed.is_repeated = true;
    }

    /// Returns true if no other rank writes the bytes that this rank writes in the call.
    pub fn owns_bytes(&self) -> bool {
        !self.agreed.may_overlap
    }

    /// Returns the range that the ranks write.
    pub fn range(&self) -> Range<u64> {
        self.agreed.range.0..self.agreed.range.1
    }

    /// Returns the range in which other ranks may have written in this call before an access of this rank, in the same
    /// call. A write of bytes that only this rank has waits for them only if the call repeats its writes; a read, and a
    /// write with filled holes, touches bytes of others, too.
    pub fn written_before(&self, is_own_write: bool) -> Option<Range<u64>> {
        let AgreedWrite { has_early, is_repeated, .. } = self.agreed;
        (is_repeated || has_early && !is_own_write).then(|| self.range())
    }
}

/// Maximum number of ranges in a list. With more, the ranges of all ranks become one, and the ranges of this rank are
/// forgotten.
const MOST_RANGES: usize = 64;

/// A part of the file, in a collective write.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InCall {
    range: Range<u64>,
    /// Number of the call that wrote the range.
    number: u64,
}

/// Ranges of earlier collective writes.
#[derive(Debug, Default)]
pub struct CallRanges {
    /// Ranges that all ranks together have written, by call.
    all: Vec<InCall>,
    /// Parts that this rank has written, after it has waited for all others. Later calls may have overwritten them.
    own: Vec<InCall>,
}

impl CallRanges {
    /// Notes that ranks have written somewhere in `range` in the call `number`.
    pub fn note(&mut self, range: Range<u64>, number: u64) {
        if range.is_empty() {
            return;
        }
        self.all.retain(|earlier| earlier.range.start < range.start || earlier.range.end > range.end);
        self.all.push(InCall { range, number });
        if self.all.len() > MOST_RANGES {
            let hull = |one: InCall, other: InCall| InCall {
                range: one.range.start.min(other.range.start)..one.range.end.max(other.range.end),
                number: one.number.max(other.number),
            };
            self.all = self.all.drain(..).reduce(hull).into_iter().collect();
        }
    }

    /// Notes that this rank has written all of `range` in the call `number`, and that no other rank has bytes there that
    /// are not in the file.
    pub fn note_own(&mut self, mut range: Range<u64>, number: u64) {
        self.own.retain(|part| {
            let is_joined = part.number == number && part.range.start <= range.end && range.start <= part.range.end;
            if is_joined {
                range = range.start.min(part.range.start)..range.end.max(part.range.end);
            }
            // Bytes that a later call overwrites count for the later call.
            !is_joined && (part.range.start < range.start || part.range.end > range.end)
        });
        if self.own.len() == MOST_RANGES {
            self.own.clear();
        }
        self.own.push(InCall { range, number });
    }

    /// Notes that other ranks overwrite bytes that this rank has written in the call `number`.
    pub fn forget_own(&mut self, number: u64) {
        self.own.retain(|part| part.number != number);
    }

    /// Returns true if other ranks may have bytes of `range` that are not in the file: of earlier calls, or of `running`, the
    /// range and the number of the call that runs.
    pub fn may_be_left(&self, range: &Range<u64>, running: Option<(Range<u64>, u64)>) -> bool {
        let both = |one: &Range<u64>, other: &Range<u64>| one.start.max(other.start)..one.end.min(other.end);
        let running = running.map(|(range, number)| InCall { range, number });
        self.all.iter().chain(&running).any(|all| {
            let mut rest = both(&all.range, range);
            // Skip this rank's parts that adjoin. They are not sorted, so look through them after each one that was skipped.
            while let Some(part) = self
                .own
                .iter()
                .find(|part| part.number >= all.number && !rest.is_empty() && part.range.contains(&rest.start))
            {
                rest.start = part.range.end.min(rest.end);
            }
            !rest.is_empty()
        })
    }

    /// Forgets the ranges of the calls up to `number`, whose bytes are in the file.
    pub fn forget(&mut self, number: u64) {
        self.all.retain(|call| call.number > number);
        self.own.retain(|part| part.number > number);
    }

    /// Forgets all ranges: all bytes are in the file.
    pub fn clear(&mut self) {
        self.all.clear();
        self.own.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_waits_for_what_others_wrote_last() {
        let mut ranges = CallRanges::default();
        assert!(!ranges.may_be_left(&(0..u64::MAX), None));
        ranges.note_own(10..20, 1);
        ranges.note_own(30..40, 1);
        ranges.note_own(20..30, 1);
        ranges.note(0..100, 1);
        for (range, may_be) in [(10..40, false), (15..16, false), (9..11, true), (39..41, true), (100..200, false)] {
            assert_eq!(ranges.may_be_left(&range, None), may_be, "{range:?}");
        }
        // Call 2 writes another range than call 1; call 3 writes the range of call 1.
        ranges.note(100..200, 2);
        assert!(!ranges.may_be_left(&(10..40), None) && ranges.may_be_left(&(150..160), None));
        ranges.forget(1);
        assert!(!ranges.may_be_left(&(0..100), None) && ranges.may_be_left(&(0..101), None), "only the second call");
        ranges.note_own(10..20, 3);
        ranges.note(0..100, 3);
        assert!(!ranges.may_be_left(&(10..20), None) && ranges.may_be_left(&(20..30), None));
        ranges.clear();
        assert!(!ranges.may_be_left(&(0..u64::MAX), None));
    }

    #[test]
    fn what_others_write_again_counts_for_them() {
        let mut ranges = CallRanges::default();
        ranges.note_own(0..10, 4);
        ranges.note(0..20, 4);
        assert!(!ranges.may_be_left(&(0..10), None));
        ranges.forget_own(4);
        assert!(ranges.may_be_left(&(0..10), None));
        ranges.note_own(0..5, 4);
        assert!(!ranges.may_be_left(&(0..5), None) && ranges.may_be_left(&(0..6), None));
        // The bytes of this rank in the call that runs are its own.
        ranges.note_own(30..40, 5);
        let running = Some((20..50, 5));
        assert!(!ranges.may_be_left(&(30..40), running.clone()) && ranges.may_be_left(&(30..41), running));
    }

    #[test]
    fn too_many_ranges_become_one() {
        let mut ranges = CallRanges::default();
        for number in 0..=MOST_RANGES as u64 {
            ranges.note(10 * number..10 * number + 1, number);
        }
        assert!(ranges.may_be_left(&(5..6), None) && !ranges.may_be_left(&(10_000..10_001), None));
        for number in 0..=MOST_RANGES as u64 {
            ranges.note_own(10 * number..10 * number + 1, 1000);
        }
        assert!(ranges.may_be_left(&(0..1), None), "what is forgotten is waited for");
    }
}
