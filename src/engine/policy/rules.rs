//! Chooses the path of a call. The rules are pure functions of values that all ranks agree on, so all ranks choose the
//! same path.

use tributary_base::wire;

use super::path::{Path, Reason};
use super::windows::{CallWindows, WindowPlanner};
use super::{FEW_BESIDE_WINDOWS, FEW_PIECES, LARGE_PIECE, MOSTLY_EMPTY};
use crate::access::Direction;
use crate::engine::facts::Amount;
use crate::engine::facts::Agreed;
use crate::hints::{Hints, Overlap, Switch};

/// The settings of a file that the rules use in every call.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Hints in force.
    pub hints: &'a Hints,
    /// Planner of windows in shared memory.
    pub windows: &'a WindowPlanner,
    /// Direction of the call: write or read.
    pub direction: Direction,
    /// True if the ranks share memory; otherwise they exchange messages.
    pub in_memory: bool,
}

/// What one rank decides for all ranks of a call. The decision is part of the answer ([`Agreed`]), so no other rank decides
/// it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// The path of the bytes.
    pub path: Path,
    /// Why this path.
    pub reason: Reason,
    /// The windows, if the path is [`Path::Windows`].
    pub windows: CallWindows,
}

wire::fields!(struct Decision { path, reason, windows });

impl Rules<'_> {
    /// Returns these rules for ranks that share memory.
    pub fn in_memory(self) -> Self {
        Self { in_memory: true, ..self }
    }

    /// Returns the value of the hint that switches collective buffering in this direction.
    pub(super) fn switch(&self) -> Switch {
        match self.direction {
            Direction::Write => self.hints.cb_write,
            Direction::Read => self.hints.cb_read,
        }
    }

    /// Returns the minimum mean size in bytes of pieces that go directly: the cost of a system call, or the hint
    /// `trib_direct_min` if the file system locks larger units.
    pub(super) fn large(&self) -> u64 {
        if self.windows.lock_unit > 1 { self.hints.direct_min } else { self.hints.direct_min.min(LARGE_PIECE) }
    }

    /// Decides how the bytes of a call go, from what all ranks agreed on. One rank calls it and answers for all ranks. If the
    /// ranks then find out more ([`Rules::must_look`]), each rank decides again, with the same result.
    pub fn decide(&self, agreed: &mut Agreed) {
        let (path, reason) = self.choose(agreed);
        let windows = if path == Path::Windows { self.windows.over(&agreed.left) } else { CallWindows::default() };
        agreed.decision = Decision { path, reason, windows };
    }

    /// Returns the path of a call, and the reason.
    fn choose(&self, agreed: &Agreed) -> (Path, Reason) {
        let Agreed { all, left, .. } = agreed;
        match self.direction {
            Direction::Write if left.bytes == 0 && all.bytes > 0 => (Path::Independent, Reason::WroteItself),
            Direction::Read if left.bytes == 0 && all.bytes > 0 => (Path::Independent, Reason::ReadItself),
            _ if left.bytes == 0 => (Path::Nothing, Reason::NoData),
            _ if left.end <= left.start => (Path::Nothing, Reason::BehindEnd),
            _ if self.in_memory => self.through_memory(agreed),
            _ => self.by_messages(agreed),
        }
    }

    /// Returns true if the ranks still have to find out whether their ranges overlap
    /// ([`truly_disjoint`](crate::engine::agreement::truly_disjoint)), because they have written directly, or would.
    pub fn must_look(&self, agreed: &Agreed) -> bool {
        let would = || self.switch() == Switch::Automatic && agreed.decision.path == Path::Direct;
        self.direction == Direction::Write && agreed.disjoint.is_none() && (agreed.transferred > 0 || would())
    }

    /// Returns true if ranks that want different bytes may read them by themselves.
    pub fn reads_apart(&self, agreed: &Agreed) -> bool {
        self.switch() == Switch::Automatic && !self.hints.no_indep_rw && agreed.disjoint == Some(true)
    }

    /// Returns the path of ranks that exchange messages, and the reason.
    ///
    /// The rule of `automatic`: an exchange moves every byte twice and costs a message for each (rank, aggregator) and
    /// round. It pays if requests are small or interleave. Ranges that do not overlap, with large requests on average,
    /// take the direct path. Hosts that have no bytes in each other's ranges do not exchange; each writes or reads its
    /// own bytes.
    fn by_messages(&self, agreed: &Agreed) -> (Path, Reason) {
        let is_small = agreed.left.bytes <= self.hints.tiny_call;
        let is_few = self.direction == Direction::Read && agreed.all.most <= FEW_PIECES && self.windows.lock_unit == 1;
        match self.among_ranks(&agreed.left, agreed.disjoint == Some(false)) {
            _ if agreed.came_along && is_small => (Path::Root, Reason::CameAlong),
            (Path::Exchange, _) if is_few && self.reads_apart(agreed) => (Path::Direct, Reason::FewApart),
            (Path::Exchange, _) if agreed.hosts_are_apart && !is_small => (Path::Hosts, Reason::HostsApart),
            chosen => chosen,
        }
    }

    /// Returns the path of ranks that exchange messages like [`Rules::by_messages`], but ignores hosts, few pieces, and
    /// data that came along.
    fn among_ranks(&self, left: &Amount, overlap: bool) -> (Path, Reason) {
        let Self { hints, direction, .. } = *self;
        let (bytes, mean, large) = (left.bytes, left.mean(), self.large());
        match self.switch() {
            _ if hints.no_indep_rw => (Path::Exchange, Reason::OnlyAggregators),
            _ if self.is_in_order() => (Path::Exchange, Reason::RankOrder),
            Switch::Disable => (Path::Direct, Reason::Switch { direction, on: false }),
            _ if bytes <= hints.tiny_call => (Path::Exchange, Reason::Small { bytes }),
            Switch::Enable => (Path::Exchange, Reason::Switch { direction, on: true }),
            Switch::Automatic if mean < large => (Path::Exchange, Reason::SmallRequests { mean, large }),
            Switch::Automatic if overlap => (Path::Exchange, Reason::RangesOverlap),
            Switch::Automatic => (Path::Direct, Reason::LargeRequests { mean }),
        }
    }

    /// Returns the path of ranks that share memory, and the reason.
    fn through_memory(&self, agreed: &Agreed) -> (Path, Reason) {
        let left = &agreed.left;
        let may_overlap = self.direction == Direction::Write && agreed.disjoint != Some(true);
        let is_few = left.most <= FEW_BESIDE_WINDOWS;
        match self.switch() {
            _ if agreed.no_memory => (Path::Direct, Reason::NoMemory),
            Switch::Disable if may_overlap && self.is_in_order() => (Path::Windows, Reason::MayOverlap),
            Switch::Disable => (Path::Direct, Reason::Disabled),
            _ if agreed.came_along => (Path::Slots, Reason::FitsSlots),
            Switch::Enable => (Path::Windows, Reason::Enabled),
            Switch::Automatic if may_overlap => (Path::Windows, Reason::MayOverlap),
            Switch::Automatic if left.mean() >= self.large() => (Path::Direct, Reason::LargePieces),
            Switch::Automatic if is_few && left.span() / left.bytes >= MOSTLY_EMPTY => (Path::Direct, Reason::FarApart),
            Switch::Automatic => (Path::Windows, Reason::SmallPieces),
        }
    }

    /// Returns true if bytes that several ranks write must be written in rank order.
    fn is_in_order(&self) -> bool {
        self.direction == Direction::Write && self.hints.overlap == Overlap::RankOrder
    }
}

#[cfg(test)]
mod tests {
    use Direction::{Read, Write};

    use super::super::early::tests::with;
    use super::*;
    use crate::access::Extents;
    use crate::engine::facts::tests::agreed;
    use crate::engine::facts::overlap::Tiling;

    const MANY: Amount =
        Amount { start: 0, end: 1 << 21, bytes: 1 << 20, requests: 1 << 14, most: 1 << 12, touched: 0 };
    const CALL: Agreed = Agreed {
        failed: None,
        all: MANY,
        left: MANY,
        reuse: None,
        disjoint: Some(true),
        hosts_are_apart: false,
        came_along: false,
        redone: false,
        no_memory: false,
        transferred: 0,
        micros: 0,
        is_sole: false,
        wants_early: false,
        have_sieved: false,
        decision: Decision { path: Path::Nothing, reason: Reason::Unknown, windows: NO_WINDOWS },
    };
    const NO_WINDOWS: CallWindows = CallWindows { base: 0, start: 0, end: 0, window: 0, ring: 0 };

    fn left(left: Amount) -> Agreed {
        Agreed { left, ..CALL }
    }

    fn overlapping(left: Amount) -> Agreed {
        Agreed { left, disjoint: Some(false), ..CALL }
    }

    type Case = (Direction, &'static str, Agreed, Path, Reason);

    fn check(cases: &[Case], in_memory: bool) {
        for (direction, hints, agreed, path, reason) in cases {
            let found = with(*direction, hints, |rules| Rules { in_memory, ..rules }.choose(agreed));
            assert_eq!(found, (*path, *reason), "{direction:?} with {hints:?}: {agreed:?}");
        }
    }

    #[test]
    fn paths_of_all_ranks() {
        let (none, behind) = (Agreed { all: Amount::NONE, ..left(Amount::NONE) }, left(Amount { end: 0, ..MANY }));
        let independent = left(Amount::NONE);
        for in_memory in [false, true] {
            let cases = [
                (Write, "", none, Path::Nothing, Reason::NoData),
                (Read, "romio_cb_read=disable", behind, Path::Nothing, Reason::BehindEnd),
                (Write, "", independent, Path::Independent, Reason::WroteItself),
                (Read, "", independent, Path::Independent, Reason::ReadItself),
            ];
            check(&cases, in_memory);
        }
    }

    #[test]
    fn paths_by_messages() {
        let small = Reason::SmallRequests { mean: 64, large: 16_384 };
        let (large, direct_min) = (Reason::LargeRequests { mean: 16_384 }, "locks;trib_direct_min=8192");
        let switched = |direction, on| Reason::Switch { direction, on };
        let some_large = Amount { requests: 64, ..MANY };
        let (larges, apart) = (left(some_large), Agreed { hosts_are_apart: true, ..overlapping(MANY) });
        let tiny = Amount { bytes: 999, ..MANY };
        let along = |left| Agreed { left, came_along: true, ..CALL };
        let cases = [
            (Write, "", CALL, Path::Exchange, small),
            (Read, "", CALL, Path::Exchange, small),
            (Write, "", along(tiny), Path::Root, Reason::CameAlong),
            (Write, "", along(MANY), Path::Exchange, small),
            (Write, "", apart, Path::Hosts, Reason::HostsApart),
            (Write, "", larges, Path::Direct, large),
            (Write, "", Agreed { disjoint: None, ..larges }, Path::Direct, large),
            (Write, direct_min, larges, Path::Direct, large),
            (Write, "locks;", larges, Path::Exchange, Reason::SmallRequests { mean: 16_384, large: 4 << 20 }),
            (Write, "", overlapping(some_large), Path::Exchange, Reason::RangesOverlap),
            (Write, "", Agreed { left: tiny, ..apart }, Path::Exchange, Reason::Small { bytes: 999 }),
            (Write, "romio_no_indep_rw=true", larges, Path::Exchange, Reason::OnlyAggregators),
            (Write, "trib_overlap=rank_order", larges, Path::Exchange, Reason::RankOrder),
            (Read, "trib_overlap=rank_order", larges, Path::Direct, large),
            (Write, "romio_cb_write=enable", larges, Path::Exchange, switched(Write, true)),
            (Read, "romio_cb_read=enable", apart, Path::Hosts, Reason::HostsApart),
            (Read, "romio_cb_read=disable", left(tiny), Path::Direct, switched(Read, false)),
            (Read, "romio_cb_write=disable", CALL, Path::Exchange, small),
        ];
        check(&cases, false);
        let few = |call: Agreed| Agreed { all: Amount { most: 4, ..MANY }, disjoint: Some(true), ..call };
        let cases = [
            (Read, "", few(CALL), Path::Direct, Reason::FewApart),
            (Read, "", few(apart), Path::Direct, Reason::FewApart),
            (Read, "", Agreed { disjoint: Some(false), ..few(CALL) }, Path::Exchange, small),
            (Write, "", few(CALL), Path::Exchange, small),
            (Read, "romio_cb_read=enable", few(CALL), Path::Exchange, switched(Read, true)),
        ];
        check(&cases, false);
        assert_eq!(with(Read, "locks;", |rules| rules.choose(&few(CALL))).0, Path::Exchange);
    }

    /// If it is unknown whether ranges overlap, writes find out before bytes that were written directly count, or
    /// before they write directly.
    #[test]
    fn writes_look_whether_ranges_overlap() {
        let unknown =
            |requests, transferred| Agreed { disjoint: None, transferred, ..left(Amount { requests, ..MANY }) };
        let looks = |direction, hints, mut agreed: Agreed| {
            with(direction, hints, |rules| {
                (agreed.decision.path, agreed.decision.reason) = rules.choose(&agreed);
                rules.must_look(&agreed)
            })
        };
        assert!(looks(Write, "", unknown(64, 0)) && looks(Write, "", unknown(1 << 14, 9)));
        assert!(!looks(Write, "", unknown(1 << 14, 0)) && !looks(Read, "", unknown(64, 9)));
        assert!(!looks(Write, "", CALL) && !looks(Write, "romio_cb_write=disable", unknown(64, 0)));
    }

    #[test]
    fn paths_through_memory() {
        let (in_slots, in_order) =
            (Agreed { came_along: true, ..CALL }, "romio_cb_write=disable; trib_overlap=rank_order");
        let large = Amount { requests: 64, most: 64, ..MANY };
        let few = Amount { requests: 256, most: 8, end: 1 << 26, ..MANY };
        let cases = [
            (Write, "", CALL, Path::Windows, Reason::SmallPieces),
            (Write, "", Agreed { no_memory: true, ..CALL }, Path::Direct, Reason::NoMemory),
            (Write, "", in_slots, Path::Slots, Reason::FitsSlots),
            (Write, "romio_cb_write=enable", in_slots, Path::Slots, Reason::FitsSlots),
            (Write, "romio_cb_write=disable", in_slots, Path::Direct, Reason::Disabled),
            (Write, "romio_cb_write=enable", left(large), Path::Windows, Reason::Enabled),
            (Read, "romio_cb_read=disable", CALL, Path::Direct, Reason::Disabled),
            (Write, "romio_cb_write=disable", overlapping(MANY), Path::Direct, Reason::Disabled),
            (Write, in_order, overlapping(MANY), Path::Windows, Reason::MayOverlap),
            (Write, in_order, CALL, Path::Direct, Reason::Disabled),
            (Write, "", overlapping(large), Path::Windows, Reason::MayOverlap),
            (Read, "", overlapping(large), Path::Direct, Reason::LargePieces),
            (Write, "", left(large), Path::Direct, Reason::LargePieces),
            (Write, "locks;", left(large), Path::Windows, Reason::SmallPieces),
            (Write, "", left(few), Path::Direct, Reason::FarApart),
            (Write, "", left(Amount { most: 9, ..few }), Path::Windows, Reason::SmallPieces),
            (Write, "", left(Amount { end: 1 << 25, ..few }), Path::Windows, Reason::SmallPieces),
        ];
        check(&cases, true);
    }

    #[test]
    fn large_pieces_without_overlaps_are_written_directly() {
        let path = |files: &[Extents]| {
            let agreed = agreed(files, Some(Tiling::from_key(99)), &[]);
            with(Write, "", |rules| rules.in_memory().choose(&agreed).0)
        };
        let strided = |rank: u64, len: u64| Extents::strided(rank * len, len, 4 * len as i64, 8).unwrap();
        let all = |len| (0..4).map(|rank| strided(rank, len)).collect::<Vec<_>>();
        assert_eq!(path(&all(64 << 10)), Path::Direct, "interleaved, and tiled");
        assert_eq!(path(&all(64)), Path::Windows);
        let mut overlapping = all(64 << 10);
        overlapping[2] = strided(1, 64 << 10);
        assert_eq!(path(&overlapping), Path::Windows);
        let block = |at: u64| Extents::contiguous(at, 1 << 20).unwrap();
        assert_eq!(path(&[block(5 << 20), block(0), block(9 << 20)]), Path::Direct, "apart, in any order");
        assert_eq!(path(&[block(0), block(1 << 19)]), Path::Windows);
        assert_eq!(path(&[Extents::empty(), Extents::empty()]), Path::Nothing);
    }
}
