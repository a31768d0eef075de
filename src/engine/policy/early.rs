//! Decides which pieces a rank writes or reads by itself before the first agreement, and whether ranks may write then,
//! when other ranks may not be in the call yet.
//!
//! Another library may write the file between collective calls by data sieving: it reads a range, replaces its pieces
//! and writes the range back (ROMIO, in independent writes; under a lock that this library does not take). A rank that
//! has not arrived may be doing that, and would overwrite what others have written early. So where a caller names such
//! [writers](WritersBeside), ranks write early only after they have agreed on it, and from then on every rank keeps
//! its other library from sieving ([`EarlyWrites::are_agreed_on`]).

use super::rules::Rules;
use super::{DENSE_PART, FAR_APART, FEW_BESIDE_WINDOWS, FEW_PIECES, LARGE_OF_FEW, LARGE_TO_READ, WORTH_OPENING};
use crate::access::Direction;
use crate::access::Extents;
use crate::engine::facts::Agreed;
use crate::hints::Switch;

/// Facts that a rank knows about another library that may write the file between collective calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WritersBeside {
    /// True if all ranks are known to be in this call: none of them is in a call of the other library.
    pub all_are_here: bool,
    /// True if the other library has written a strided access for this rank, with data sieving if nobody keeps it
    /// from that. Then ranks stop writing early, so that it may sieve.
    pub have_sieved: bool,
}

/// The decision if a rank may write before the first agreement.
#[derive(Debug, Default)]
pub struct EarlyWrites {
    beside: Option<WritersBeside>,
    are_agreed_on: bool,
}

impl EarlyWrites {
    /// Sets what this rank knows of writers beside this library, for the next call. Without it there are none.
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

    /// Learns from the first agreement of all ranks in a call.
    pub fn learn(&mut self, agreed: &Agreed) {
        self.are_agreed_on = !agreed.have_sieved && (agreed.wants_early || self.are_agreed_on);
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

    /// Returns true if a rank writes `file` before the ranks agree. `alone` is true if every rank that shares memory
    /// has a core of its own. If the hint `romio_no_indep_rw` says that the file is written only collectively, a rank
    /// that exchanges messages opens the file only if it has enough bytes to be worth the open.
    pub fn writes_early(&self, file: &Extents, alone: bool) -> bool {
        if self.in_memory {
            return self.writes_itself(file, alone);
        }
        let may_open = !self.hints.no_indep_rw || file.bytes() >= WORTH_OPENING;
        self.switch() == Switch::Automatic && may_open && self.is_direct(file)
    }

    /// Returns true if a rank that shares memory writes `file` before the ranks agree.
    fn writes_itself(&self, file: &Extents, alone: bool) -> bool {
        let is_few = alone && self.windows.lock_unit == 1 && file.count() <= FEW_BESIDE_WINDOWS;
        let least = if is_few { self.hints.direct_min.min(LARGE_OF_FEW) } else { self.large() };
        self.switch() == Switch::Automatic && file.count() > 0 && file.bytes() / file.count() >= least
    }

    /// Returns true if a rank reads `file` before the ranks agree. `apart` is true if ranks wanted different bytes in
    /// the read before. (If all ranks that exchange messages want the same bytes, one rank reads them for all.)
    pub fn reads_early(&self, file: &Extents, apart: bool) -> bool {
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
pub mod tests {
    use super::super::windows::WindowPlanner;
    use Direction::{Read, Write};

    use super::*;
    use crate::hints::Hints;

    /// Calls `by` with the rules of hints on a file system that locks single bytes, or 1 MiB with the prefix `locks;`.
    pub fn with<T>(direction: Direction, hints: &str, by: impl FnOnce(Rules<'_>) -> T) -> T {
        let (unit, hints) = hints.strip_prefix("locks;").map_or((1, hints), |hints| (1 << 20, hints));
        let windows = WindowPlanner { memory: 1 << 24, lock_unit: unit, direct_from: None };
        by(Rules { hints: &Hints::parse(hints).unwrap(), windows: &windows, direction, in_memory: false })
    }

    /// Pieces that a rank writes or reads before the ranks agree: without shared memory, and with it, on a core of its
    /// own.
    #[test]
    fn pieces_that_go_before_the_ranks_meet() {
        let cases = [
            (Write, "", 4, 4096, true, true),
            (Write, "", 5, 4096, false, true),
            (Write, "", 9, 4096, false, false),
            (Write, "", 1, 4095, false, false),
            (Write, "", 99, 16_384, true, true),
            (Write, "trib_direct_min=99", 99, 99, true, true),
            (Write, "locks;", 1, 16_384, false, false),
            (Write, "romio_cb_write=enable", 1, 1 << 20, false, false),
            (Write, "romio_no_indep_rw=true", 1, 1 << 19, false, true),
            (Write, "romio_no_indep_rw=true", 1, 1 << 20, true, true),
            (Read, "", 4, 1, true, true),
            (Read, "", 5, 1, false, true),
            (Read, "locks;", 4, 1, false, true),
            (Read, "", 99, 16_384, true, true),
        ];
        for (direction, hints, count, len, by_messages, in_memory) in cases {
            let file = Extents::strided(0, len, 1 << 21, count).unwrap();
            let found = with(direction, hints, |rules| match direction {
                Write => (rules.writes_early(&file, false), rules.in_memory().writes_early(&file, true)),
                Read => (rules.reads_early(&file, true), rules.in_memory().reads_early(&file, true)),
            });
            assert_eq!(found, (by_messages, in_memory), "{direction:?} of {count} x {len} with {hints:?}");
        }
        let reads = |hints, len, stride, count| {
            let file = Extents::strided(4096, len, stride, count).unwrap();
            with(Read, hints, |rules| rules.reads_itself(&file))
        };
        assert!(!reads("", 100, 400, 99) && reads("", 400, 401, 99) && reads("", 100, 9000, 99), "gaps");
        assert!(reads("", 32_768, 100_000, 99) && reads("romio_cb_read=disable", 100, 400, 99));
        assert!(!reads("romio_cb_read=enable", 1 << 20, 1 << 21, 99) && reads("romio_cb_read=enable", 4, -8, 99));
    }

    #[test]
    fn writes_are_early_after_an_agreement_until_another_library_sieves() {
        let mut early = EarlyWrites::default();
        assert!(early.are_allowed() && !early.are_agreed_on(), "no other library");
        early.set(WritersBeside { all_are_here: true, ..WritersBeside::default() });
        assert!(early.are_allowed(), "the call that opens the file");
        early.set(WritersBeside::default());
        early.learn(&Agreed::default());
        assert!(!early.are_allowed(), "no rank wanted it");
        early.learn(&Agreed { wants_early: true, ..Agreed::default() });
        early.learn(&Agreed::default());
        assert!(early.are_allowed() && early.are_agreed_on());
        early.learn(&Agreed { wants_early: true, have_sieved: true, ..Agreed::default() });
        assert!(!early.are_allowed() && !early.are_agreed_on());
    }
}
