//! Chooses the path of a call, and decides which pieces a rank writes or reads by itself before the first agreement.
//!
//! The rules for a path are pure functions of values that all ranks agree on, so all ranks choose the same path. What a rank does
//! before the agreement it chooses for itself, from its own pieces and what it knows of the file. Other ranks may not be in the
//! call yet.
//!
//! Another library may write the file between collective calls by data sieving: it reads a range, replaces its pieces and
//! writes the range back. (ROMIO does so in independent writes, under a lock that this library does not take.) A rank that
//! has not arrived may be sieving, and would overwrite the bytes that others have written early. So if a caller names such
//! [writers](WritersBeside), ranks write early only after they have agreed on it. From then on every rank keeps its other
//! library from sieving ([`EarlyWrites::are_agreed_on`]).

use tributary_base::wire;

use crate::access::{AccessStats, Direction, Extents};
use crate::engine::choose::cost::Expected;
use crate::engine::choose::windows::{CallWindows, WindowPlanner};
use crate::engine::choose::{
    COPIED, DENSE_PART, FAR_APART, FEW_BESIDE_WINDOWS, FEW_PIECES, LARGE_OF_FEW, LARGE_PIECE, LARGE_TO_READ,
    MOST_WRITERS, MOSTLY_EMPTY, WANTED_PART, WORTH_OPENING,
};
use crate::engine::trace::path::{Path, Reason};
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
    /// Number of ranks of the file.
    pub ranks: u64,
    /// Nanoseconds of a call on the file, without its bytes, if this process knows that calls take long. Unlike the rest, not
    /// equal on all ranks.
    pub slow_call: Option<u64>,
}

/// The agreed values of a call on which its path depends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallShape {
    /// Extents and bytes of the whole call, of all ranks.
    pub all: AccessStats,
    /// Extents and bytes that still have to be written or read, of all ranks.
    pub left: AccessStats,
    /// True if no two ranks have the same byte; `None` if this is unknown.
    pub disjoint: Option<bool>,
    /// The expected times of each host by itself and of an exchange, if it is certain that no two hosts have bytes in the same
    /// range.
    pub apart: Option<Expected>,
    /// True if all ranks sent their data with their facts.
    pub is_inline: bool,
    /// Nanoseconds of a call on the file, without its bytes. Ranks that share memory have them if the last write or read of windows was
    /// slow (0: unknown), and ranks that exchange messages if rank 0 knows them.
    pub slow_call: Option<u64>,
    /// True if there is no shared memory for windows.
    pub no_memory: bool,
    /// Number of bytes that all ranks have written or read so far.
    pub transferred: u64,
}

wire::fields!(struct CallShape { all, left, disjoint, apart, is_inline, slow_call, no_memory, transferred });

/// The decision of one rank for all ranks of a call. It is part of the answer of the first agreement, so the other ranks do
/// not compute it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// The path of the call's bytes.
    pub path: Path,
    /// Why the path was chosen.
    pub reason: Reason,
    /// The windows, if the path is [`Path::Windows`].
    pub windows: CallWindows,
}

wire::fields!(struct Decision { path, reason, windows });

impl Rules<'_> {
    /// Returns the value of the hint that switches collective buffering in this direction.
    fn switch(&self) -> Switch {
        match self.direction {
            Direction::Write => self.hints.cb_write,
            Direction::Read => self.hints.cb_read,
        }
    }

    /// Returns the minimum mean size in bytes of pieces that are written or read directly: the cost of a system call, or the
    /// hint `trib_direct_min` if the file system locks larger units.
    fn large(&self) -> u64 {
        if self.windows.lock_unit > 1 { self.hints.direct_min } else { self.hints.direct_min.min(LARGE_PIECE) }
    }

    /// Chooses the path of a call, from the values that all ranks agreed on. One rank calls it and answers for all ranks. If
    /// the ranks then find out more ([`Rules::needs_overlap_check`]), each rank repeats the decision, with the same result.
    pub fn decide(&self, shape: &CallShape) -> Decision {
        let (path, reason) = self.choose(shape);
        let windows = match path {
            Path::Windows => self.windows.over(&shape.left, self.direction, shape.slow_call),
            _ => CallWindows::default(),
        };
        Decision { path, reason, windows }
    }

    /// Returns the path of a call, and the reason.
    fn choose(&self, shape: &CallShape) -> (Path, Reason) {
        let CallShape { all, left, .. } = shape;
        match self.direction {
            Direction::Write if left.bytes == 0 && all.bytes > 0 => (Path::Independent, Reason::WroteItself),
            Direction::Read if left.bytes == 0 && all.bytes > 0 => (Path::Independent, Reason::ReadItself),
            _ if left.bytes == 0 => (Path::Nothing, Reason::NoData),
            _ if left.end <= left.start => (Path::Nothing, Reason::PastEnd),
            _ if self.in_memory => self.through_memory(shape),
            _ => self.by_messages(shape),
        }
    }

    /// Returns true if the ranks still have to find out whether their ranges overlap, because they have written directly, or
    /// would on `path`.
    pub fn needs_overlap_check(&self, shape: &CallShape, path: Path) -> bool {
        let would = || self.switch() == Switch::Automatic && path == Path::Direct;
        self.direction == Direction::Write && shape.disjoint.is_none() && (shape.transferred > 0 || would())
    }

    /// Returns true if ranks that want different bytes may read them by themselves.
    pub fn reads_apart(&self, shape: &CallShape) -> bool {
        self.switch() == Switch::Automatic && !self.hints.no_indep_rw && shape.disjoint == Some(true)
    }

    /// Returns the path of ranks that exchange messages, and the reason.
    ///
    /// The rule of `automatic`: an exchange moves every byte twice and costs a message for each (rank, aggregator) and
    /// round. It pays if requests are small or interleave. Ranges that do not overlap, with large requests on average,
    /// take the direct path. Hosts that have no bytes in each other's ranges do not exchange; each writes or reads its
    /// own bytes.
    fn by_messages(&self, shape: &CallShape) -> (Path, Reason) {
        let is_small = shape.left.bytes <= self.hints.tiny_call;
        let is_few = self.direction == Direction::Read && shape.all.most <= FEW_PIECES && self.windows.lock_unit == 1;
        match self.among_ranks(&shape.left, shape.disjoint == Some(false)) {
            _ if shape.is_inline && is_small => (Path::Root, Reason::Inline),
            (Path::Exchange, _) if is_few && self.reads_apart(shape) => (Path::Direct, Reason::FewApart),
            (Path::Exchange, chosen) if !is_small => match shape.apart {
                Some(Expected { by_exchange: true, .. }) => (Path::Exchange, Reason::Faster),
                Some(_) => (Path::Hosts, Reason::HostsApart),
                None => (Path::Exchange, chosen),
            },
            chosen => chosen,
        }
    }

    /// Returns the path of ranks that exchange messages like [`Rules::by_messages`], but ignores hosts, few pieces, and
    /// data that was sent with the facts.
    fn among_ranks(&self, left: &AccessStats, overlap: bool) -> (Path, Reason) {
        let Self { hints, direction, .. } = *self;
        let (bytes, mean, large) = (left.bytes, left.mean(), self.large());
        // Ranks with enough bytes open the file, as before the agreement.
        let opens = self.switch() == Switch::Automatic && mean >= large && bytes / self.ranks >= WORTH_OPENING;
        match self.switch() {
            _ if hints.no_indep_rw && !opens => (Path::Exchange, Reason::OnlyAggregators),
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
    fn through_memory(&self, shape: &CallShape) -> (Path, Reason) {
        let left = &shape.left;
        let may_overlap = self.direction == Direction::Write && shape.disjoint != Some(true);
        let is_few = left.most <= FEW_BESIDE_WINDOWS;
        match self.switch() {
            _ if shape.no_memory => (Path::Direct, Reason::NoMemory),
            Switch::Disable if may_overlap && self.is_in_order() => (Path::Windows, Reason::MayOverlap),
            Switch::Disable => (Path::Direct, Reason::Disabled),
            _ if shape.is_inline => (Path::Slots, Reason::FitsSlots),
            Switch::Enable => (Path::Windows, Reason::Enabled),
            Switch::Automatic if may_overlap => (Path::Windows, Reason::MayOverlap),
            Switch::Automatic if left.mean() >= self.large() => {
                match self.is_faster_in_windows(left.most, left, shape.slow_call) {
                    true => (Path::Windows, Reason::Faster),
                    false => (Path::Direct, Reason::LargePieces),
                }
            }
            Switch::Automatic if is_few && left.span() / left.bytes >= MOSTLY_EMPTY => (Path::Direct, Reason::FarApart),
            Switch::Automatic => (Path::Windows, Reason::SmallPieces),
        }
    }

    /// Returns true if ranks that share memory write faster through windows than by themselves: `most` pieces of one rank, one after
    /// the other, take more calls than the windows of a writer, and the calls that this saves take longer than the copy of all
    /// bytes into windows. `slow_call` is the time of a call in nanoseconds, if calls take long. Windows with many holes are
    /// written in many calls, and count as slower.
    fn is_faster_in_windows(&self, most: u64, all: &AccessStats, slow_call: Option<u64>) -> bool {
        let Some(call) = slow_call.filter(|_| self.direction == Direction::Write) else { return false };
        let windows = self.windows.over(all, self.direction, slow_call).count();
        let saved = most.saturating_sub(windows.div_ceil(MOST_WRITERS.into()));
        all.bytes >= all.span() / WANTED_PART && saved.saturating_mul(call) > all.bytes / COPIED
    }

    /// Returns true if bytes that several ranks write must be written in rank order.
    fn is_in_order(&self) -> bool {
        self.direction == Direction::Write && self.hints.overlap == Overlap::RankOrder
    }
}

/// Facts that a rank knows about another library that may write the file between collective calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WritersBeside {
    /// True if all ranks are known to be in this call: none of them is in a call of the other library.
    pub all_are_here: bool,
    /// True if the other library has written a strided access for this rank, with data sieving unless that is
    /// prevented. Then ranks stop writing early, so that the other library may sieve.
    pub have_sieved: bool,
}

/// Facts by which a rank decides if it may write before the first agreement.
#[derive(Debug, Default)]
pub struct EarlyWrites {
    beside: Option<WritersBeside>,
    are_agreed_on: bool,
}

impl EarlyWrites {
    /// Sets what this rank knows of another library that writes the file, for the next call. Without it, no other library
    /// writes.
    pub fn set(&mut self, beside: WritersBeside) {
        self.beside = Some(beside);
    }

    /// Returns true if this rank may write before the first agreement of the next call.
    pub fn are_allowed(&self) -> bool {
        match self.beside {
            None => true,
            Some(beside) => beside.all_are_here || self.are_agreed_on,
        }
    }

    /// Returns true if another library has sieved for this rank.
    pub fn have_sieved(&self) -> bool {
        self.beside.is_some_and(|beside| beside.have_sieved)
    }

    /// Returns true if a rank of the file may write before other ranks are in the next call; the same on all ranks.
    pub fn are_agreed_on(&self) -> bool {
        self.beside.is_some() && self.are_agreed_on
    }

    /// Learns from the first agreement of all ranks in a call: whether any rank would write early, and whether another library
    /// has sieved for any.
    pub fn learn(&mut self, wants_early: bool, have_sieved: bool) {
        self.are_agreed_on = !have_sieved && (wants_early || self.are_agreed_on);
    }
}

impl Rules<'_> {
    /// Returns true if a rank writes or reads `file` directly, without shared memory: its pieces are large, or few and
    /// not small, and the file system locks no larger units.
    pub fn is_direct(&self, file: &Extents) -> bool {
        let is_few = file.count() <= FEW_PIECES && self.windows.lock_unit == 1;
        let least = match self.direction {
            Direction::Write if is_few => self.hints.direct_min.min(LARGE_OF_FEW),
            Direction::Read if is_few => 0,
            _ => self.large(),
        };
        file.count() > 0 && file.bytes() / file.count() >= least
    }

    /// Returns true if a rank writes `file` before the ranks agree. `has_own_core` is true if every rank that shares
    /// memory has a core of its own. If the hint `romio_no_indep_rw` says that the file is written only collectively, a
    /// rank that exchanges messages opens the file only if it has enough bytes to be worth the open.
    pub fn can_write_before_agreement(&self, file: &Extents, has_own_core: bool) -> bool {
        if self.in_memory {
            return self.writes_itself(file, has_own_core);
        }
        let may_open = !self.hints.no_indep_rw || file.bytes() >= WORTH_OPENING;
        self.switch() == Switch::Automatic && may_open && self.is_direct(file)
    }

    /// Returns true if a rank that shares memory writes `file` before the ranks agree.
    fn writes_itself(&self, file: &Extents, has_own_core: bool) -> bool {
        let is_few = has_own_core && self.windows.lock_unit == 1 && file.count() <= FEW_BESIDE_WINDOWS;
        let least = if is_few { self.hints.direct_min.min(LARGE_OF_FEW) } else { self.large() };
        // As if all ranks had as many bytes, without holes.
        let bytes = file.bytes().saturating_mul(self.ranks);
        let all = AccessStats { start: 0, end: bytes, bytes, ..AccessStats::NONE };
        self.switch() == Switch::Automatic
            && file.count() > 0
            && file.bytes() / file.count() >= least
            && !self.is_faster_in_windows(file.count(), &all, self.slow_call)
    }

    /// Returns true if a rank reads `file` before the ranks agree. `apart` is true if ranks wanted different bytes in the
    /// previous read. (If all ranks that exchange messages want the same bytes, one rank reads them for all.)
    pub fn can_read_before_agreement(&self, file: &Extents, apart: bool) -> bool {
        if self.in_memory { self.reads_itself(file) } else { apart && self.is_direct(file) }
    }

    /// Returns true if a rank that shares memory reads `file` before the ranks agree. (Reads do not conflict.)
    pub fn reads_itself(&self, file: &Extents) -> bool {
        let Some((start, end)) = file.span() else { return true };
        match self.switch() {
            Switch::Enable => !file.is_ascending(),
            Switch::Disable => true,
            Switch::Automatic => {
                let is_dense = file.bytes() >= (end - start) - (end - start) / DENSE_PART;
                let is_sparse = (end - start) / file.count() >= FAR_APART;
                is_sparse
                    || file.count() <= FEW_PIECES
                    || file.bytes() / file.count() >= LARGE_TO_READ
                    || is_dense
                    || !file.is_ascending()
            }
        }
    }
}

#[cfg(test)]
mod tests;
