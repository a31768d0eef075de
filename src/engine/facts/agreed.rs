//! What all ranks know after the first agreement of a call: the facts of all of them. The rules of the policy look at nothing
//! else.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::direction::Direction;
use crate::engine::facts::calls::Fault;
use crate::engine::facts::ranges::RankRanges;
use crate::engine::facts::reuse::{AccessShift, Reuse};
use crate::engine::facts::tiling::Tiling;
use crate::engine::facts::words::words;
use crate::engine::facts::{Amount, Facts};
use crate::engine::policy::decision::Decision;
use crate::engine::storage::{Failure, Storage, guarded, without_size_signal};
use crate::error::Result;
use crate::topology::Rank;

words! {
    /// See the module. The one rank that decides tells it to all.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Agreed {
        /// Why the call fails, if it does. Then nobody looks at what ranks bring besides their facts: its form depends on the call.
        pub failed: Option<Fault>,
        /// The amount of the whole call.
        pub all: Amount,
        /// The amount that is left to do.
        pub left: Amount,
        /// The plan that fits on all ranks, if there is one.
        pub reuse: Option<Reuse>,
        /// Whether no two ranks have the same byte, if that is known.
        pub disjoint: Option<bool>,
        /// Whether no host holds bytes of another, for sure.
        pub hosts_are_apart: bool,
        /// Whether all data that is left came along with the facts.
        pub came_along: bool,
        /// Whether bytes that ranks wrote early are written again, because ranks overlap.
        pub redone: bool,
        /// Whether there is no memory for windows.
        pub no_memory: bool,
        /// Bytes that ranks have written or read so far.
        pub transferred: u64,
        /// The most microseconds that a rank took for them.
        pub micros: u64,
        /// Whether nobody can be writing the file during the call but the call's ranks, in the call. Only then may bytes that no
        /// rank writes be written back as they were.
        pub is_sole: bool,
        /// How the bytes of the call go.
        pub decision: Decision,
    }
}

impl Agreed {
    /// What the merged facts of all ranks say. `apart` says whether hosts are.
    pub fn of(facts: &Facts, ranges: &RankRanges, tiling: Tiling, apart: bool, direction: Direction) -> Self {
        let Facts { calls, failed, all, left, again, limit, transferred, micros, is_sole, .. } = *facts;
        let [plans, lowest, highest] = again;
        // In ranges that overlap, pieces may overlap or not.
        let tiles = all.bytes == 0 || facts.tiles == Some(tiling.piece(all.start, all.end));
        let disjoint = if tiles { Some(true) } else { ranges.are_disjoint() };
        let until = |amount: Amount| Amount { end: amount.end.min(limit), ..amount };
        let mut agreed = Self {
            failed: match calls.are_mixed() {
                true => Some(Fault::Mixed(calls)),
                false => failed.map(Fault::OfRank),
            },
            all: until(all),
            left: until(left),
            reuse: AccessShift::agreed(plans, lowest, highest),
            disjoint,
            hosts_are_apart: apart,
            // Nobody writes it over bytes that ranks may have written by themselves: those are exchanged with it.
            came_along: facts.comes_along && (transferred == 0 || disjoint == Some(true)),
            redone: false,
            no_memory: false,
            transferred,
            micros,
            is_sole,
            decision: Decision::default(),
        };
        agreed.redo(direction);
        agreed
    }

    /// In a write of ranks that overlap, what they wrote early is left to do again, in order.
    pub fn redo(&mut self, direction: Direction) {
        if direction == Direction::Write && self.transferred > 0 && self.disjoint == Some(false) {
            (self.left, self.reuse, self.redone) = (self.all, None, true);
            (self.transferred, self.micros) = (0, 0);
        }
    }

    /// Writes the data that came along, on the one rank that decides: `write` does it, and counts bytes. Errors name this
    /// rank and the file's path.
    ///
    /// # Errors
    /// The file cannot be opened or written; it is then known that this rank has failed.
    pub fn write_along(
        &mut self,
        storage: &Result<Arc<dyn Storage>>,
        (rank, path): (Rank, &Path),
        write: impl FnOnce(&dyn Storage, &mut u64) -> std::result::Result<(), Failure>,
    ) -> Result<()> {
        let (begin, _quiet) = (Instant::now(), without_size_signal());
        let wrote = storage.as_ref().map_err(Clone::clone).and_then(|storage| {
            guarded("write", self.left.start, || write(&**storage, &mut self.transferred))
                .map_err(|failure| failure.of(rank, path))
        });
        self.micros = self.micros.max(begin.elapsed().as_micros() as u64);
        wrote.inspect_err(|_| self.failed = Some(Fault::OfRank(rank)))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::access::Extents;
    use crate::engine::facts::words::{get, message};
    use crate::engine::storage::window_queue::Outcome;

    /// What ranks with these accesses agree on, if they look at all pieces; those in `early` have written theirs.
    pub fn agreed(files: &[Extents], tiling: Option<Tiling>, early: &[usize]) -> Agreed {
        let of = |(rank, file): (usize, &Extents)| {
            let outcome = Outcome { bytes: file.bytes(), ..Outcome::default() };
            Facts::of((file, file), (AccessShift::No, 0), early.contains(&rank).then_some(&outcome), tiling)
        };
        let ranks: Vec<_> = files.iter().enumerate().map(of).collect();
        let mut all = Facts::NONE;
        ranks.iter().for_each(|facts| all.merge(facts));
        let ranges = RankRanges::of(ranks.iter().filter_map(Facts::range));
        Agreed::of(&all, &ranges, tiling.unwrap_or(Tiling::of(7)), false, Direction::Write)
    }

    #[test]
    fn tiling_pieces_and_disjoint_ranges_are_disjoint() {
        let all = |files: &[Extents], look: bool| agreed(files, look.then_some(Tiling::of(11)), &[]).disjoint;
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
        assert!([apart, overlapping].iter().all(|one| get::<Agreed>(&message(one)) == *one));
    }
}
