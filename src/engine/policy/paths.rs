//! Chooses the path of a call. The rules are pure functions of values that all ranks agree on, so all ranks choose the
//! same path.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use super::reason::Reason;
use super::{FEW_BESIDE_WINDOWS, FEW_PIECES, LARGE_PIECE, MOSTLY_EMPTY};
use crate::access::Direction;
use crate::engine::facts::Amount;
use crate::engine::facts::agreed::Agreed;
use crate::hints::{Hints, Overlap, Switch};

/// The settings of a file that the rules use in every call.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Hints in force.
    pub hints: &'a Hints,
    /// Number of bytes that the file system locks together; 1 if it locks no larger units.
    pub unit: u64,
    /// Direction of the call: write or read.
    pub direction: Direction,
    /// True if the ranks share memory; otherwise they exchange messages.
    pub in_memory: bool,
}

/// How the bytes of a call go between the ranks and the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// The two-phase exchange: by messages through aggregators.
    Exchange,
    /// The bytes go through memory that all ranks share, or the ranks of each host. No data goes from host to host.
    Shared,
    /// Rank 0 wrote the bytes of all ranks, which came with the first agreement.
    Root,
    /// Every rank writes or reads its own extents.
    Direct,
    /// No rank had bytes to write or read.
    #[default]
    Nothing,
}

impl Path {
    /// Returns how the bytes went, as a phrase for reports.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Exchange => "through aggregators",
            Self::Shared => "through shared memory",
            Self::Root => "by rank 0",
            Self::Direct => "each rank by itself",
            Self::Nothing => "without data",
        }
    }

    /// Returns the name of the path in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Shared => "shared",
            Self::Root => "root",
            Self::Direct => "direct",
            Self::Nothing => "nothing",
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The path of a call as the engine runs it, chosen after the first agreement. More detailed than [`Path`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Way {
    /// No rank has data.
    #[default]
    Nothing,
    /// Every rank has already written or read its own bytes.
    Itself,
    /// The data came with the first agreement, and rank 0 has written it.
    Root,
    /// The data came in the slots of shared memory, and the last rank to arrive has written it.
    Slots,
    /// Every rank writes or reads its own bytes directly.
    Direct,
    /// The bytes go through windows in shared memory.
    Windows,
    /// The ranks of every host write or read the bytes of this host, without other hosts.
    Hosts,
    /// The two-phase exchange through aggregators.
    Exchange,
}

impl Way {
    /// Returns the path for the report.
    pub fn path(self) -> Path {
        match self {
            Self::Nothing => Path::Nothing,
            Self::Itself | Self::Direct => Path::Direct,
            Self::Root => Path::Root,
            Self::Slots | Self::Windows | Self::Hosts => Path::Shared,
            Self::Exchange => Path::Exchange,
        }
    }

    /// Returns true if the call ends with its first agreement.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Nothing | Self::Itself | Self::Root | Self::Slots)
    }
}

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
        if self.unit > 1 { self.hints.direct_min } else { self.hints.direct_min.min(LARGE_PIECE) }
    }

    /// Returns the path of a call, and the reason. The rank that answers for all ranks calls it, by
    /// [`Setup::decide`](crate::engine::setup::Setup::decide).
    pub fn choose(&self, agreed: &Agreed) -> (Way, Reason) {
        let Agreed { all, left, .. } = agreed;
        match self.direction {
            Direction::Write if left.bytes == 0 && all.bytes > 0 => (Way::Itself, Reason::WroteItself),
            Direction::Read if left.bytes == 0 && all.bytes > 0 => (Way::Itself, Reason::ReadItself),
            _ if left.bytes == 0 => (Way::Nothing, Reason::NoData),
            _ if left.end <= left.start => (Way::Nothing, Reason::BehindEnd),
            _ if self.in_memory => self.through_memory(agreed),
            _ => self.by_messages(agreed),
        }
    }

    /// Returns true if the ranks still have to find out whether their ranges overlap
    /// ([`truly_disjoint`](crate::engine::agreement::truly_disjoint)), because they have written directly, or would.
    pub fn must_look(&self, agreed: &Agreed) -> bool {
        let would = || self.switch() == Switch::Automatic && agreed.decision.way == Way::Direct;
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
    fn by_messages(&self, agreed: &Agreed) -> (Way, Reason) {
        let is_small = agreed.left.bytes <= self.hints.tiny_call;
        let is_few = self.direction == Direction::Read && agreed.all.most <= FEW_PIECES && self.unit == 1;
        match self.among_ranks(&agreed.left, agreed.disjoint == Some(false)) {
            _ if agreed.came_along && is_small => (Way::Root, Reason::CameAlong),
            (Way::Exchange, _) if is_few && self.reads_apart(agreed) => (Way::Direct, Reason::FewApart),
            (Way::Exchange, _) if agreed.hosts_are_apart && !is_small => (Way::Hosts, Reason::HostsApart),
            chosen => chosen,
        }
    }

    /// Returns the path of ranks that exchange messages like [`Rules::by_messages`], but ignores hosts, few pieces, and
    /// data that came along.
    fn among_ranks(&self, left: &Amount, overlap: bool) -> (Way, Reason) {
        let Self { hints, direction, .. } = *self;
        let (bytes, mean, large) = (left.bytes, left.mean(), self.large());
        match self.switch() {
            _ if hints.no_indep_rw => (Way::Exchange, Reason::OnlyAggregators),
            _ if self.is_in_order() => (Way::Exchange, Reason::RankOrder),
            Switch::Disable => (Way::Direct, Reason::Switch { direction, on: false }),
            _ if bytes <= hints.tiny_call => (Way::Exchange, Reason::Small { bytes }),
            Switch::Enable => (Way::Exchange, Reason::Switch { direction, on: true }),
            Switch::Automatic if mean < large => (Way::Exchange, Reason::SmallRequests { mean, large }),
            Switch::Automatic if overlap => (Way::Exchange, Reason::RangesOverlap),
            Switch::Automatic => (Way::Direct, Reason::LargeRequests { mean }),
        }
    }

    /// Returns the path of ranks that share memory, and the reason.
    fn through_memory(&self, agreed: &Agreed) -> (Way, Reason) {
        let left = &agreed.left;
        let may_overlap = self.direction == Direction::Write && agreed.disjoint != Some(true);
        let is_few = left.most <= FEW_BESIDE_WINDOWS;
        match self.switch() {
            _ if agreed.no_memory => (Way::Direct, Reason::NoMemory),
            Switch::Disable if may_overlap && self.is_in_order() => (Way::Windows, Reason::MayOverlap),
            Switch::Disable => (Way::Direct, Reason::Disabled),
            _ if agreed.came_along => (Way::Slots, Reason::FitsSlots),
            Switch::Enable => (Way::Windows, Reason::Enabled),
            Switch::Automatic if may_overlap => (Way::Windows, Reason::MayOverlap),
            Switch::Automatic if left.mean() >= self.large() => (Way::Direct, Reason::LargePieces),
            Switch::Automatic if is_few && left.span() / left.bytes >= MOSTLY_EMPTY => (Way::Direct, Reason::FarApart),
            Switch::Automatic => (Way::Windows, Reason::SmallPieces),
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

    use super::super::itself::tests::with;
    use super::*;
    use crate::access::Extents;
    use crate::engine::facts::agreed::tests::agreed;
    use crate::engine::facts::tiling::Tiling;
    use crate::engine::policy::call_windows::CallWindows;
    use crate::engine::policy::decision::Decision;

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
        decision: Decision { way: Way::Nothing, reason: Reason::Unknown, windows: NO_WINDOWS },
    };
    const NO_WINDOWS: CallWindows = CallWindows { base: 0, start: 0, end: 0, window: 0, ring: 0 };

    fn left(left: Amount) -> Agreed {
        Agreed { left, ..CALL }
    }

    fn overlapping(left: Amount) -> Agreed {
        Agreed { left, disjoint: Some(false), ..CALL }
    }

    type Case = (Direction, &'static str, Agreed, Way, Reason);

    fn check(cases: &[Case], in_memory: bool) {
        for (direction, hints, agreed, way, reason) in cases {
            let found = with(*direction, hints, |rules| Rules { in_memory, ..rules }.choose(agreed));
            assert_eq!(found, (*way, *reason), "{direction:?} with {hints:?}: {agreed:?}");
        }
    }

    #[test]
    fn ways_of_all_ranks() {
        let (none, behind) = (Agreed { all: Amount::NONE, ..left(Amount::NONE) }, left(Amount { end: 0, ..MANY }));
        let itself = left(Amount::NONE);
        for in_memory in [false, true] {
            let cases = [
                (Write, "", none, Way::Nothing, Reason::NoData),
                (Read, "romio_cb_read=disable", behind, Way::Nothing, Reason::BehindEnd),
                (Write, "", itself, Way::Itself, Reason::WroteItself),
                (Read, "", itself, Way::Itself, Reason::ReadItself),
            ];
            check(&cases, in_memory);
        }
    }

    #[test]
    fn ways_by_messages() {
        let small = Reason::SmallRequests { mean: 64, large: 16_384 };
        let (large, direct_min) = (Reason::LargeRequests { mean: 16_384 }, "locks;trib_direct_min=8192");
        let switched = |direction, on| Reason::Switch { direction, on };
        let some_large = Amount { requests: 64, ..MANY };
        let (larges, apart) = (left(some_large), Agreed { hosts_are_apart: true, ..overlapping(MANY) });
        let tiny = Amount { bytes: 999, ..MANY };
        let along = |left| Agreed { left, came_along: true, ..CALL };
        let cases = [
            (Write, "", CALL, Way::Exchange, small),
            (Read, "", CALL, Way::Exchange, small),
            (Write, "", along(tiny), Way::Root, Reason::CameAlong),
            (Write, "", along(MANY), Way::Exchange, small),
            (Write, "", apart, Way::Hosts, Reason::HostsApart),
            (Write, "", larges, Way::Direct, large),
            (Write, "", Agreed { disjoint: None, ..larges }, Way::Direct, large),
            (Write, direct_min, larges, Way::Direct, large),
            (Write, "locks;", larges, Way::Exchange, Reason::SmallRequests { mean: 16_384, large: 4 << 20 }),
            (Write, "", overlapping(some_large), Way::Exchange, Reason::RangesOverlap),
            (Write, "", Agreed { left: tiny, ..apart }, Way::Exchange, Reason::Small { bytes: 999 }),
            (Write, "romio_no_indep_rw=true", larges, Way::Exchange, Reason::OnlyAggregators),
            (Write, "trib_overlap=rank_order", larges, Way::Exchange, Reason::RankOrder),
            (Read, "trib_overlap=rank_order", larges, Way::Direct, large),
            (Write, "romio_cb_write=enable", larges, Way::Exchange, switched(Write, true)),
            (Read, "romio_cb_read=enable", apart, Way::Hosts, Reason::HostsApart),
            (Read, "romio_cb_read=disable", left(tiny), Way::Direct, switched(Read, false)),
            (Read, "romio_cb_write=disable", CALL, Way::Exchange, small),
        ];
        check(&cases, false);
        let few = |call: Agreed| Agreed { all: Amount { most: 4, ..MANY }, disjoint: Some(true), ..call };
        let cases = [
            (Read, "", few(CALL), Way::Direct, Reason::FewApart),
            (Read, "", few(apart), Way::Direct, Reason::FewApart),
            (Read, "", Agreed { disjoint: Some(false), ..few(CALL) }, Way::Exchange, small),
            (Write, "", few(CALL), Way::Exchange, small),
            (Read, "romio_cb_read=enable", few(CALL), Way::Exchange, switched(Read, true)),
        ];
        check(&cases, false);
        assert_eq!(with(Read, "locks;", |rules| rules.choose(&few(CALL))).0, Way::Exchange);
    }

    /// If it is unknown whether ranges overlap, writes find out before bytes that were written directly count, or
    /// before they write directly.
    #[test]
    fn writes_look_whether_ranges_overlap() {
        let unknown =
            |requests, transferred| Agreed { disjoint: None, transferred, ..left(Amount { requests, ..MANY }) };
        let looks = |direction, hints, mut agreed: Agreed| {
            with(direction, hints, |rules| {
                (agreed.decision.way, agreed.decision.reason) = rules.choose(&agreed);
                rules.must_look(&agreed)
            })
        };
        assert!(looks(Write, "", unknown(64, 0)) && looks(Write, "", unknown(1 << 14, 9)));
        assert!(!looks(Write, "", unknown(1 << 14, 0)) && !looks(Read, "", unknown(64, 9)));
        assert!(!looks(Write, "", CALL) && !looks(Write, "romio_cb_write=disable", unknown(64, 0)));
    }

    #[test]
    fn ways_through_memory() {
        let (in_slots, in_order) =
            (Agreed { came_along: true, ..CALL }, "romio_cb_write=disable; trib_overlap=rank_order");
        let large = Amount { requests: 64, most: 64, ..MANY };
        let few = Amount { requests: 256, most: 8, end: 1 << 26, ..MANY };
        let cases = [
            (Write, "", CALL, Way::Windows, Reason::SmallPieces),
            (Write, "", Agreed { no_memory: true, ..CALL }, Way::Direct, Reason::NoMemory),
            (Write, "", in_slots, Way::Slots, Reason::FitsSlots),
            (Write, "romio_cb_write=enable", in_slots, Way::Slots, Reason::FitsSlots),
            (Write, "romio_cb_write=disable", in_slots, Way::Direct, Reason::Disabled),
            (Write, "romio_cb_write=enable", left(large), Way::Windows, Reason::Enabled),
            (Read, "romio_cb_read=disable", CALL, Way::Direct, Reason::Disabled),
            (Write, "romio_cb_write=disable", overlapping(MANY), Way::Direct, Reason::Disabled),
            (Write, in_order, overlapping(MANY), Way::Windows, Reason::MayOverlap),
            (Write, in_order, CALL, Way::Direct, Reason::Disabled),
            (Write, "", overlapping(large), Way::Windows, Reason::MayOverlap),
            (Read, "", overlapping(large), Way::Direct, Reason::LargePieces),
            (Write, "", left(large), Way::Direct, Reason::LargePieces),
            (Write, "locks;", left(large), Way::Windows, Reason::SmallPieces),
            (Write, "", left(few), Way::Direct, Reason::FarApart),
            (Write, "", left(Amount { most: 9, ..few }), Way::Windows, Reason::SmallPieces),
            (Write, "", left(Amount { end: 1 << 25, ..few }), Way::Windows, Reason::SmallPieces),
        ];
        check(&cases, true);
    }

    #[test]
    fn large_pieces_without_overlaps_are_written_directly() {
        let way = |files: &[Extents]| {
            let agreed = agreed(files, Some(Tiling::from_key(99)), &[]);
            with(Write, "", |rules| rules.in_memory().choose(&agreed).0)
        };
        let strided = |rank: u64, len: u64| Extents::strided(rank * len, len, 4 * len as i64, 8).unwrap();
        let all = |len| (0..4).map(|rank| strided(rank, len)).collect::<Vec<_>>();
        assert_eq!(way(&all(64 << 10)), Way::Direct, "interleaved, and tiled");
        assert_eq!(way(&all(64)), Way::Windows);
        let mut overlapping = all(64 << 10);
        overlapping[2] = strided(1, 64 << 10);
        assert_eq!(way(&overlapping), Way::Windows);
        let block = |at: u64| Extents::contiguous(at, 1 << 20).unwrap();
        assert_eq!(way(&[block(5 << 20), block(0), block(9 << 20)]), Way::Direct, "apart, in any order");
        assert_eq!(way(&[block(0), block(1 << 19)]), Way::Windows);
        assert_eq!(way(&[Extents::empty(), Extents::empty()]), Way::Nothing);
    }
}
