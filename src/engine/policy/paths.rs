//! The path of a call. The rules are pure, and look at nothing but what ranks agree on: the same on all ranks.

use super::reason::Reason;
use super::{FEW_BESIDE_WINDOWS, LARGE_PIECE, MOSTLY_EMPTY};
use crate::engine::api::report::Path;
use crate::engine::plan::{Agreed, Direction};
use crate::engine::shared::opening::Total;
use crate::hints::{Hints, Overlap, Switch};

/// What the rules look at in every call on a file.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The hints.
    pub hints: &'a Hints,
    /// The unit in bytes that the file system locks; 1 if none.
    pub unit: u64,
    /// Write or read.
    pub direction: Direction,
}

/// The path of a call of ranks that share memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// No rank has data.
    Nothing,
    /// The last rank to arrive writes the data from the slots.
    Slots,
    /// Every rank writes or reads its own bytes directly.
    Direct,
    /// Through windows in shared memory.
    Windows,
    /// Every rank has already written or read its own bytes.
    AlreadyDone,
}

/// Every path of ranks that share memory, with its reason. The number of a row crosses between ranks: each reason is in one.
const IN_MEMORY: [(Way, Reason); 11] = [
    (Way::Nothing, Reason::NoData),
    (Way::Nothing, Reason::BehindEnd),
    (Way::Slots, Reason::FitsSlots),
    (Way::AlreadyDone, Reason::WroteItself),
    (Way::Windows, Reason::SmallPieces),
    (Way::Windows, Reason::MayOverlap),
    (Way::Direct, Reason::LargePieces),
    (Way::Direct, Reason::FarApart),
    (Way::Windows, Reason::Enabled),
    (Way::Direct, Reason::Disabled),
    NO_MEMORY,
];

/// Replaces the choice of windows if there is no memory for them.
pub const NO_MEMORY: (Way, Reason) = (Way::Direct, Reason::NoMemory);

/// The number of a path of ranks that share memory.
pub fn number(chosen: (Way, Reason)) -> u8 {
    IN_MEMORY.iter().position(|row| *row == chosen).unwrap_or_default() as u8
}

/// The path of a number.
pub fn of_number(number: u8) -> (Way, Reason) {
    IN_MEMORY[usize::from(number)]
}

impl Rules<'_> {
    /// The hint that switches collective buffering.
    pub(super) fn switch(&self) -> Switch {
        match self.direction {
            Direction::Write => self.hints.cb_write,
            Direction::Read => self.hints.cb_read,
        }
    }

    /// The mean size in bytes from which pieces go directly: the cost of a system call, or the hint if the file system locks
    /// larger units.
    pub(super) fn large(&self) -> u64 {
        if self.unit > 1 { self.hints.direct_min } else { self.hints.direct_min.min(LARGE_PIECE) }
    }

    /// The path of ranks that exchange messages. `few` says of a read that no rank wants more than a few pieces, and no two
    /// ranks the same byte.
    ///
    /// The rule of `automatic`: an exchange moves every byte twice and costs a message for each (rank, aggregator) and round.
    /// It pays if requests are small or interleave. Ranges that do not overlap, with large requests on average, take the direct
    /// path. (A write verifies first that they do not overlap: [`truly_disjoint`](crate::engine::plan::truly_disjoint).) Hosts
    /// that hold no bytes of each other do not exchange; each does what it has to by itself.
    pub fn by_messages(&self, agreed: &Agreed, few: bool) -> (Path, Reason) {
        match self.among_ranks(agreed) {
            (Path::Exchange, _) if few && self.unit == 1 => (Path::Direct, Reason::FewApart),
            (Path::Exchange, reason) if agreed.bytes > self.hints.tiny_call => exchange(agreed, reason),
            chosen => chosen,
        }
    }

    /// As [`Rules::by_messages`], without a look at hosts and few pieces.
    fn among_ranks(&self, agreed: &Agreed) -> (Path, Reason) {
        let Self { hints, direction, .. } = *self;
        let (bytes, mean, large) = (agreed.bytes, agreed.bytes / agreed.requests.max(1), self.large());
        if let Some(reason) = nothing(bytes, agreed.start, agreed.end) {
            return (Path::Nothing, reason);
        }
        match self.switch() {
            _ if hints.no_indep_rw => (Path::Exchange, Reason::OnlyAggregators),
            _ if self.is_in_order() => (Path::Exchange, Reason::RankOrder),
            Switch::Disable => (Path::Direct, Reason::Switch { direction, on: false }),
            _ if bytes <= hints.tiny_call => (Path::Exchange, Reason::Small { bytes }),
            Switch::Enable => (Path::Exchange, Reason::Switch { direction, on: true }),
            Switch::Automatic if mean < large => (Path::Exchange, Reason::SmallRequests { mean, large }),
            Switch::Automatic if !agreed.disjoint => (Path::Exchange, Reason::RangesOverlap),
            Switch::Automatic => (Path::Direct, Reason::LargeRequests { mean }),
        }
    }

    /// The path of ranks that share memory.
    pub fn in_memory(&self, total: &Total) -> (Way, Reason) {
        if total.served && total.transferred > 0 {
            return (Way::AlreadyDone, Reason::WroteItself);
        }
        if let Some(reason) = nothing(total.bytes, total.start, total.end) {
            return (Way::Nothing, reason);
        }
        let is_write = self.direction == Direction::Write;
        let may_overlap = is_write && !total.disjoint;
        let is_few = total.most_pieces <= FEW_BESIDE_WINDOWS;
        match self.switch() {
            Switch::Disable if may_overlap && self.is_in_order() => (Way::Windows, Reason::MayOverlap),
            Switch::Disable => (Way::Direct, Reason::Disabled),
            _ if total.inline && is_write => (Way::Slots, Reason::FitsSlots),
            Switch::Enable => (Way::Windows, Reason::Enabled),
            Switch::Automatic if may_overlap => (Way::Windows, Reason::MayOverlap),
            Switch::Automatic if total.mean() >= self.large() => (Way::Direct, Reason::LargePieces),
            Switch::Automatic if is_few && total.span() / total.bytes >= MOSTLY_EMPTY => {
                (Way::Direct, Reason::FarApart)
            }
            Switch::Automatic => (Way::Windows, Reason::SmallPieces),
        }
    }

    /// Whether bytes that several ranks write must be written in the order of ranks.
    fn is_in_order(&self) -> bool {
        self.direction == Direction::Write && self.hints.overlap == Overlap::RankOrder
    }
}

/// The exchange for this reason; by host if no host holds bytes of another.
pub fn exchange(agreed: &Agreed, reason: Reason) -> (Path, Reason) {
    if agreed.hosts_are_apart { (Path::Shared, Reason::HostsApart) } else { (Path::Exchange, reason) }
}

/// Why there is nothing to do, if there is nothing.
fn nothing(bytes: u64, start: u64, end: u64) -> Option<Reason> {
    match bytes {
        0 => Some(Reason::NoData),
        _ => (end <= start).then_some(Reason::BehindEnd),
    }
}

#[cfg(test)]
mod tests {
    use Direction::{Read, Write};

    use super::super::itself::tests::with;
    use super::*;

    const CALL: Agreed = Agreed {
        start: 0,
        end: 1 << 30,
        bytes: 1 << 20,
        requests: 1 << 14,
        touched: 0,
        disjoint: true,
        shift: None,
        hosts_are_apart: false,
    };
    const LARGE: Agreed = Agreed { requests: 64, ..CALL };
    const APART: Agreed = Agreed { hosts_are_apart: true, ..CALL };
    const MEETING: Total = Total {
        failed: None,
        start: 0,
        end: 1 << 21,
        bytes: 1 << 20,
        asked: 1 << 20,
        count: 1 << 14,
        pieces: 1 << 14,
        most_pieces: 1 << 12,
        inline: false,
        disjoint: true,
        served: false,
        transferred: 0,
    };
    const FEW: Total = Total { pieces: 256, most_pieces: 8, end: 1 << 26, ..MEETING };
    const MANY_LARGE: Total = Total { pieces: 64, most_pieces: 64, ..MEETING };

    #[test]
    fn paths_by_messages() {
        let small = Reason::SmallRequests { mean: 64, large: 16_384 };
        let (large, direct_min) = (Reason::LargeRequests { mean: 16_384 }, "locks;trib_direct_min=8192");
        let switched = |direction, on| Reason::Switch { direction, on };
        let cases = [
            (Write, "", Agreed { bytes: 0, ..CALL }, Path::Nothing, Reason::NoData),
            (Read, "romio_cb_read=disable", Agreed { end: 0, ..CALL }, Path::Nothing, Reason::BehindEnd),
            (Write, "", CALL, Path::Exchange, small),
            (Read, "", CALL, Path::Exchange, small),
            (Write, "", APART, Path::Shared, Reason::HostsApart),
            (Write, "", LARGE, Path::Direct, large),
            (Write, direct_min, LARGE, Path::Direct, large),
            (Write, "locks;", LARGE, Path::Exchange, Reason::SmallRequests { mean: 16_384, large: 4 << 20 }),
            (Write, "", Agreed { disjoint: false, ..LARGE }, Path::Exchange, Reason::RangesOverlap),
            (Write, "", Agreed { bytes: 999, ..APART }, Path::Exchange, Reason::Small { bytes: 999 }),
            (Write, "romio_no_indep_rw=true", LARGE, Path::Exchange, Reason::OnlyAggregators),
            (Write, "trib_overlap=rank_order", LARGE, Path::Exchange, Reason::RankOrder),
            (Read, "trib_overlap=rank_order", LARGE, Path::Direct, large),
            (Write, "romio_cb_write=enable", LARGE, Path::Exchange, switched(Write, true)),
            (Read, "romio_cb_read=enable", APART, Path::Shared, Reason::HostsApart),
            (Read, "romio_cb_read=disable", Agreed { bytes: 9, ..CALL }, Path::Direct, switched(Read, false)),
            (Read, "romio_cb_write=disable", CALL, Path::Exchange, small),
        ];
        for (direction, hints, agreed, path, reason) in cases {
            let found = with(direction, hints, |rules| rules.by_messages(&agreed, false));
            assert_eq!(found, (path, reason), "{direction:?} with {hints:?}: {agreed:?}");
        }
        let few = [("", CALL, Path::Direct), ("", APART, Path::Direct), ("locks;", CALL, Path::Exchange)];
        for (hints, agreed, path) in few {
            assert_eq!(with(Read, hints, |rules| rules.by_messages(&agreed, true)).0, path, "few with {hints:?}");
        }
    }

    #[test]
    fn paths_in_memory() {
        let overlapping = |total| Total { disjoint: false, ..total };
        let (in_slots, in_order) =
            (Total { inline: true, ..MEETING }, "romio_cb_write=disable; trib_overlap=rank_order");
        let served = Total { served: true, transferred: 9, bytes: 0, ..MEETING };
        let cases = [
            (Write, "", Total { bytes: 0, ..MEETING }, Way::Nothing, Reason::NoData),
            (Read, "", Total { end: 0, ..MEETING }, Way::Nothing, Reason::BehindEnd),
            (Write, "", served, Way::AlreadyDone, Reason::WroteItself),
            (Write, "", MEETING, Way::Windows, Reason::SmallPieces),
            (Write, "", in_slots, Way::Slots, Reason::FitsSlots),
            (Write, "romio_cb_write=enable", in_slots, Way::Slots, Reason::FitsSlots),
            (Write, "romio_cb_write=disable", in_slots, Way::Direct, Reason::Disabled),
            (Read, "", in_slots, Way::Windows, Reason::SmallPieces),
            (Write, "romio_cb_write=enable", MANY_LARGE, Way::Windows, Reason::Enabled),
            (Read, "romio_cb_read=disable", MEETING, Way::Direct, Reason::Disabled),
            (Write, "romio_cb_write=disable", overlapping(MEETING), Way::Direct, Reason::Disabled),
            (Write, in_order, overlapping(MEETING), Way::Windows, Reason::MayOverlap),
            (Write, in_order, MEETING, Way::Direct, Reason::Disabled),
            (Write, "", overlapping(MANY_LARGE), Way::Windows, Reason::MayOverlap),
            (Read, "", overlapping(MANY_LARGE), Way::Direct, Reason::LargePieces),
            (Write, "", MANY_LARGE, Way::Direct, Reason::LargePieces),
            (Write, "locks;", MANY_LARGE, Way::Windows, Reason::SmallPieces),
            (Write, "", FEW, Way::Direct, Reason::FarApart),
            (Write, "", Total { most_pieces: 9, ..FEW }, Way::Windows, Reason::SmallPieces),
            (Write, "", Total { end: 1 << 25, ..FEW }, Way::Windows, Reason::SmallPieces),
        ];
        for (direction, hints, total, way, reason) in cases {
            let found = with(direction, hints, |rules| rules.in_memory(&total));
            assert_eq!(found, (way, reason), "{direction:?} with {hints:?}: {total:?}");
            assert_eq!(of_number(number(found)), found, "as others learn it");
        }
        assert!((0..11).all(|row| number(of_number(row)) == row));
    }
}
