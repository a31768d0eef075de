//! The result of a call's first agreement: the merged facts of all ranks. The rules of the policy use nothing else.

use std::sync::Arc;

use tributary_base::wire;

use crate::access::Direction;
use crate::engine::facts::calls::CallFault;
use crate::engine::facts::ranges::RankRanges;
use crate::engine::facts::reuse::{AccessShift, Reuse};
use crate::engine::facts::tiling::Tiling;
use crate::engine::facts::{Amount, Facts};
use crate::engine::policy::path::Path;
use crate::engine::policy::rules::Decision;
use crate::engine::storage::behind::call::AgreedWrite;
use crate::engine::storage::{Storage, StorageFailure, guarded, without_size_signal};
use crate::error::{FileOperation, Result};
use crate::topology::Rank;
use crate::world::clock;

/// The result of a call's first agreement, the same on all ranks. One rank computes it and sends it to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Reason for which the call fails; `None` if it goes on. If it fails, ranks read only each other's facts,
    /// because other data depends on the call.
    pub failed: Option<CallFault>,
    /// Extents and bytes of the whole call, of all ranks.
    pub all: Amount,
    /// Extents and bytes that still have to be written or read, of all ranks.
    pub left: Amount,
    /// The kept plan that fits the access of every rank; `None` if there is none.
    pub reuse: Option<Reuse>,
    /// True if no two ranks have the same byte; `None` if this is unknown.
    pub disjoint: Option<bool>,
    /// True if it is certain that no two hosts have bytes in the same range.
    pub hosts_are_apart: bool,
    /// True if the data of all ranks came along with their facts.
    pub came_along: bool,
    /// True if bytes that ranks wrote before the agreement are written again, because ranks overlap.
    pub redone: bool,
    /// True if there is no shared memory for windows.
    pub no_memory: bool,
    /// Number of bytes that all ranks have written or read so far.
    pub transferred: u64,
    /// Maximum time over ranks for these bytes, in microseconds.
    pub micros: u64,
    /// True if only the ranks of this call, in this call, can be writing the file now. Only then may the call
    /// rewrite bytes in gaps between its pieces.
    pub is_sole: bool,
    /// True if a rank has pieces that it would write before the agreement, if it may.
    pub wants_early: bool,
    /// True if a rank has let another library write by data sieving.
    pub have_sieved: bool,
    /// How the bytes of the call go.
    pub decision: Decision,
}

wire::fields!(struct Agreed {
    failed, all, left, reuse, disjoint, hosts_are_apart, came_along, redone, no_memory, transferred, micros, is_sole,
    wants_early, have_sieved, decision,
});

impl Agreed {
    /// Computes the result from the merged facts of all ranks. `apart` is true if no two hosts have bytes in the same
    /// range.
    pub fn from_facts(facts: &Facts, ranges: &RankRanges, tiling: Tiling, apart: bool, direction: Direction) -> Self {
        let Facts { calls, failed, all, left, again, limit, transferred, micros, is_sole, .. } = *facts;
        let Facts { wants_early, have_sieved, .. } = *facts;
        let [plans, lowest, highest] = again;
        // If ranges overlap, their pieces may still be disjoint: the tiling shows it.
        let tiles = all.bytes == 0 || facts.tiles == Some(tiling.piece(all.start, all.end));
        let disjoint = if tiles { Some(true) } else { ranges.are_disjoint() };
        let until = |amount: Amount| Amount { end: amount.end.min(limit), ..amount };
        let mut agreed = Self {
            failed: match calls.are_mixed() {
                true => Some(CallFault::Mixed(calls)),
                false => failed.map(CallFault::OfRank),
            },
            all: until(all),
            left: until(left),
            reuse: AccessShift::agreed(plans, lowest, highest),
            disjoint,
            hosts_are_apart: apart,
            // Data that came along must not overwrite bytes that ranks have already written: then it goes through the
            // exchange.
            came_along: facts.comes_along && (transferred == 0 || disjoint == Some(true)),
            redone: false,
            no_memory: false,
            transferred,
            micros,
            is_sole,
            wants_early,
            have_sieved,
            decision: Decision::default(),
        };
        agreed.redo(direction);
        agreed
    }

    /// In a write of ranks that overlap: marks the bytes that ranks wrote before the agreement as left to write again,
    /// in order.
    pub fn redo(&mut self, direction: Direction) {
        if direction == Direction::Write && self.transferred > 0 && self.disjoint == Some(false) {
            (self.left, self.reuse, self.redone) = (self.all, None, true);
            (self.transferred, self.micros) = (0, 0);
        }
    }

    /// Returns what write-behind must know of a write.
    pub fn write_order(&self) -> AgreedWrite {
        AgreedWrite {
            range: (self.all.start, self.all.end),
            has_early: self.transferred > 0,
            is_repeated: self.redone,
            // On all other paths, one rank writes each byte.
            may_overlap: self.decision.path == Path::Direct && self.disjoint != Some(true),
        }
    }

    /// Writes the data that came along, on the one rank that decides. `write` writes and counts bytes. Errors name this
    /// rank and the file's path.
    ///
    /// # Errors
    /// The file cannot be opened or written; then `failed` names this rank.
    pub fn write_along(
        &mut self,
        storage: &Result<Arc<dyn Storage>>,
        (rank, path): (Rank, &std::path::Path),
        write: impl FnOnce(&dyn Storage, &mut u64) -> std::result::Result<(), StorageFailure>,
    ) -> Result<()> {
        let (begin, _quiet) = (clock::now(), without_size_signal());
        let wrote = storage.as_ref().map_err(Clone::clone).and_then(|storage| {
            guarded(FileOperation::Write, self.left.start, || write(&**storage, &mut self.transferred))
                .map_err(|failure| failure.into_error(rank, path))
        });
        self.micros = self.micros.max(clock::since(begin).as_micros() as u64);
        wrote.inspect_err(|_| self.failed = Some(CallFault::OfRank(rank)))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::access::Extents;
    use crate::engine::storage::window_queue::Outcome;

    /// Returns the result of the agreement of ranks with these accesses. With `tiling`, ranks hash their pieces; the
    /// ranks in `early` have already written their bytes.
    pub fn agreed(files: &[Extents], tiling: Option<Tiling>, early: &[usize]) -> Agreed {
        let of = |(rank, file): (usize, &Extents)| {
            let outcome = Outcome { bytes: file.bytes(), ..Outcome::default() };
            Facts::from_access((file, file), (AccessShift::No, 0), early.contains(&rank).then_some(&outcome), tiling)
        };
        let ranks: Vec<_> = files.iter().enumerate().map(of).collect();
        let mut all = Facts::NONE;
        ranks.iter().for_each(|facts| all.merge(facts));
        let ranges = RankRanges::from_ranges(ranks.iter().filter_map(Facts::range));
        Agreed::from_facts(&all, &ranges, tiling.unwrap_or(Tiling::from_key(7)), false, Direction::Write)
    }

    #[test]
    fn tiling_pieces_and_disjoint_ranges_are_disjoint() {
        let all = |files: &[Extents], look: bool| agreed(files, look.then_some(Tiling::from_key(11)), &[]).disjoint;
        let strided = |rank: u64| Extents::strided(rank * 8, 8, 32, 9).unwrap();
        let interleaved: Vec<_> = (0..4).map(strided).collect();
        assert_eq!(all(&interleaved, true), Some(true));
        assert_eq!(all(&interleaved, false), Some(false), "as far as anybody knows");
        let twice: Vec<_> = [0, 1, 1, 3].map(strided).into();
        assert_eq!(all(&twice, true), Some(false));
        let block = |at| Extents::contiguous(at, 100).unwrap();
        assert_eq!(all(&[block(500), block(0), block(250)], false), Some(true));
        assert_eq!(all(&[block(500), block(450)], false), Some(false));
    }

    #[test]
    fn early_bytes_count_unless_ranks_overlap() {
        let block = |at| Extents::contiguous(at, 100).unwrap();
        let apart = agreed(&[block(0), block(500)], None, &[0]);
        assert_eq!((apart.left.bytes, apart.transferred, apart.redone), (100, 100, false));
        let overlapping = agreed(&[block(0), block(50)], None, &[0]);
        assert_eq!((overlapping.left.bytes, overlapping.transferred, overlapping.redone), (200, 0, true));
        assert!([apart, overlapping].iter().all(|one| wire::from_bytes(&wire::to_bytes(one)) == Some(*one)));
    }
}
