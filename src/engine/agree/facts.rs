//! The facts of a call: a rank's arguments, errors and access statistics ([`Facts`]), and how the facts of two ranks merge.
//! They have the same encoding in a slot of shared memory and in a message. The merged facts of all ranks give the result of
//! a call's first agreement ([`Agreed`]).

use std::sync::Arc;

use tributary_base::wire;

use crate::access::{AccessStats, Direction, Extents, Tiling};
use crate::engine::agree::calls::{CallFault, CallKind, CallKinds};
use crate::engine::agree::ranges::RankRanges;
use crate::engine::choose::MAX_CHECKED_PIECES;
use crate::engine::choose::cost::Expected;
use crate::engine::choose::rules::{CallShape, Decision};
use crate::engine::exchange::kept_plans::{AccessShift, Reuse};
use crate::engine::io::write_behind::call::AgreedWrite;
use crate::engine::io::{Moved, Storage, StorageFailure, guarded, without_size_signal};
use crate::engine::trace::counts::Outcome;
use crate::engine::trace::path::Path;
use crate::error::{FileOperation, Result};
use crate::topology::Rank;
use crate::world::clock;

/// Arguments, errors and access statistics of one or more ranks in a call, for the first agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The collective calls that the ranks are in.
    pub calls: CallKinds,
    /// Lowest rank with an error; `None` if no rank has one.
    pub failed: Option<Rank>,
    /// Statistics of the whole call, as the ranks passed it.
    pub all: AccessStats,
    /// Statistics of the bytes that are left after ranks have written or read their own bytes before the agreement. If ranks
    /// share memory, a byte that a rank lists twice counts once.
    pub left: AccessStats,
    /// How the access relates to the accesses of kept plans ([`AccessShift::integers`]).
    pub reuse: [u64; 3],
    /// End of the file in bytes; `u64::MAX` if no rank has asked the file system.
    pub limit: u64,
    /// Sum of the hashes of all pieces ([`Tiling`]); `None` if a rank has not computed its hashes.
    pub tiles: Option<u64>,
    /// Number of bytes that ranks have written or read before the agreement.
    pub transferred: u64,
    /// Longest time that a rank spent on these bytes, in microseconds.
    pub micros: u64,
    /// True if the ranks send all their remaining data with the facts.
    pub is_inline: bool,
    /// True if only the ranks of this call, in this call, can be writing the file now.
    pub is_sole: bool,
    /// True if a rank has pieces that it would write before the agreement, if that were allowed.
    pub wants_early: bool,
    /// True if a rank has let another library write by data sieving ([`WritersBeside::have_sieved`]).
    ///
    /// [`WritersBeside::have_sieved`]: crate::engine::WritersBeside::have_sieved
    pub have_sieved: bool,
}

wire::fields!(struct Facts {
    calls, failed, all, left, reuse, limit, tiles, transferred, micros, is_inline, is_sole, wants_early,
    have_sieved,
});

impl Facts {
    /// The value of no rank: merging it changes nothing.
    pub const NONE: Self = Self {
        calls: CallKinds::NONE,
        failed: None,
        all: AccessStats::NONE,
        left: AccessStats::NONE,
        reuse: AccessShift::Nothing(u64::MAX).integers(),
        limit: u64::MAX,
        tiles: Some(0),
        transferred: 0,
        micros: 0,
        is_inline: true,
        is_sole: true,
        wants_early: false,
        have_sieved: false,
    };

    /// Returns the facts of one rank that writes or reads `asked`. `early` is the outcome if the rank has already done
    /// so; otherwise it still has to write or read `file`, which has bytes in `touched` windows. Hashes the pieces if
    /// that is cheap compared with the call. Sets `is_sole` to false.
    #[inline]
    pub fn from_access(
        (asked, file): (&Extents, &Extents),
        (reuse, touched): (AccessShift, u64),
        early: Option<&Outcome>,
        tiling: Option<Tiling>,
    ) -> Self {
        let all = AccessStats::from_extents(asked, touched);
        let own = Self { all, reuse: reuse.integers(), tiles: None, is_sole: false, ..Self::NONE };
        let tiling = tiling.filter(|_| early.is_some() || file.count() <= MAX_CHECKED_PIECES);
        let tiles = tiling.map(|tiling| {
            let mut sum = 0u64;
            match (file.count(), file.span()) {
                // A shortcut: starting an iteration takes longer.
                (1, Some((start, end))) => sum = tiling.piece(start, end),
                _ => file.iter().for_each(|piece| sum = sum.wrapping_add(tiling.piece(piece.offset, piece.end()))),
            }
            sum
        });
        match early {
            Some(Outcome { bytes, busy, .. }) => {
                Self { tiles, transferred: *bytes, micros: busy.as_micros() as u64, ..own }
            }
            None => Self { tiles, left: AccessStats::from_extents(file, touched), is_inline: file.count() == 0, ..own },
        }
    }

    /// Returns the facts of `rank` in a call without data.
    pub fn without_data(kind: CallKind, rank: Rank) -> Self {
        Self { calls: CallKinds::new(kind, rank), ..Self::NONE }
    }

    /// Records an error of `rank`. If several ranks have errors, the lowest stays.
    pub fn fail(&mut self, rank: Rank) {
        self.failed = Some(self.failed.map_or(rank, |failed| failed.min(rank)));
    }

    /// Returns the range of a rank in the file as (start, end); `None` without data.
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.all.bytes > 0).then_some((self.all.start, self.all.end))
    }

    /// Merges the facts of other ranks, in any order.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.calls.merge(other.calls);
        other.failed.into_iter().for_each(|rank| self.fail(rank));
        self.all.merge(&other.all);
        self.left.merge(&other.left);
        let ([plans, lowest, highest], [own, least, most]) = (other.reuse, self.reuse);
        self.reuse = [own & plans, least.min(lowest), most.max(highest)];
        self.limit = self.limit.min(other.limit);
        self.tiles = self.tiles.zip(other.tiles).map(|(own, other)| own.wrapping_add(other));
        self.transferred = self.transferred.saturating_add(other.transferred);
        self.micros = self.micros.max(other.micros);
        self.is_inline &= other.is_inline;
        self.is_sole &= other.is_sole;
        self.wants_early |= other.wants_early;
        self.have_sieved |= other.have_sieved;
    }
}

/// The result of a call's first agreement, the same on all ranks. One rank computes it and sends it to all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Reason why the call fails; `None` if it continues. If it fails, ranks read only each other's facts, because other data
    /// depends on the call.
    pub failed: Option<CallFault>,
    /// The agreed values on which the path depends.
    pub shape: CallShape,
    /// The kept plan that fits the access of every rank; `None` if there is none.
    pub reuse: Option<Reuse>,
    /// True if the ranks repeat the writes that they made before the agreement, because ranks overlap.
    pub redone: bool,
    /// Longest time that a rank spent on the bytes that it has written or read so far, in microseconds.
    pub micros: u64,
    /// True if only the ranks of this call, in this call, can be writing the file now. Only then may the call
    /// rewrite bytes in gaps between its pieces.
    pub is_sole: bool,
    /// True if a rank has pieces that it would write before the agreement, if that were allowed.
    pub wants_early: bool,
    /// True if a rank has let another library write by data sieving.
    pub have_sieved: bool,
    /// The path of the call's bytes, its reason, and the windows.
    pub decision: Decision,
}

wire::fields!(struct Agreed {
    failed, shape, reuse, redone, micros, is_sole, wants_early, have_sieved, decision,
});

impl Agreed {
    /// Computes the result from the merged facts of all ranks. `apart` has the expected times if no two hosts have bytes in the
    /// same range.
    pub fn from_facts(
        facts: &Facts,
        ranges: &RankRanges,
        tiling: Tiling,
        apart: Option<Expected>,
        direction: Direction,
    ) -> Self {
        let Facts { calls, failed, all, left, reuse, limit, transferred, micros, is_sole, .. } = *facts;
        let Facts { wants_early, have_sieved, .. } = *facts;
        let [plans, lowest, highest] = reuse;
        // If ranges overlap, their pieces may still be disjoint: the tiling shows it.
        let tiles = all.bytes == 0 || facts.tiles == Some(tiling.piece(all.start, all.end));
        let disjoint = if tiles { Some(true) } else { ranges.are_disjoint() };
        let until = |amount: AccessStats| AccessStats { end: amount.end.min(limit), ..amount };
        let mut agreed = Self {
            failed: match calls.are_mixed() {
                true => Some(CallFault::Mixed(calls)),
                false => failed.map(CallFault::OfRank),
            },
            shape: CallShape {
                all: until(all),
                left: until(left),
                disjoint,
                apart,
                // Data that was sent with the facts must not overwrite bytes that ranks have already written: then it
                // goes through the exchange.
                is_inline: facts.is_inline && (transferred == 0 || disjoint == Some(true)),
                slow_call: None,
                no_memory: false,
                transferred,
            },
            reuse: AccessShift::agreed(plans, lowest, highest),
            redone: false,
            micros,
            is_sole,
            wants_early,
            have_sieved,
            decision: Decision::default(),
        };
        agreed.redo(direction);
        agreed
    }

    /// In a write of ranks that overlap: marks the bytes that ranks wrote before the agreement as still to be written,
    /// in order.
    pub fn redo(&mut self, direction: Direction) {
        let shape = &mut self.shape;
        if direction == Direction::Write && shape.transferred > 0 && shape.disjoint == Some(false) {
            (shape.left, self.reuse, self.redone) = (shape.all, None, true);
            (shape.transferred, self.micros) = (0, 0);
        }
    }

    /// Returns the facts about a write that write-behind needs.
    pub fn write_order(&self) -> AgreedWrite {
        AgreedWrite {
            range: (self.shape.all.start, self.shape.all.end),
            has_early: self.shape.transferred > 0,
            is_repeated: self.redone,
            // On all other paths, one rank writes each byte.
            may_overlap: self.decision.path == Path::Direct && self.shape.disjoint != Some(true),
        }
    }

    /// Writes the data that ranks sent with the facts, on the one rank that decides. `write` writes and counts bytes.
    /// Errors name this rank and the file's path.
    ///
    /// # Errors
    /// The file cannot be opened or written; then `failed` names this rank.
    pub fn write_along(
        &mut self,
        storage: &Result<Arc<dyn Storage>>,
        (rank, path): (Rank, &std::path::Path),
        write: impl FnOnce(&dyn Storage, &mut Moved) -> std::result::Result<(), StorageFailure>,
    ) -> Result<()> {
        let (begin, _quiet) = (clock::now(), without_size_signal());
        let mut moved = Moved::default();
        let wrote = storage.as_ref().map_err(Clone::clone).and_then(|storage| {
            guarded(FileOperation::Write, self.shape.left.start, || write(&**storage, &mut moved))
                .map_err(|failure| failure.into_error(rank, path))
        });
        self.shape.transferred += moved.bytes;
        self.micros = self.micros.max(clock::since(begin).as_micros() as u64);
        wrote.inspect_err(|_| self.failed = Some(CallFault::OfRank(rank)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::choose::rules::Rules;
    use crate::engine::choose::windows::WindowPlanner;
    use crate::hints::Hints;

    #[test]
    fn facts_survive_encoding_and_merge() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let early = Outcome { bytes: 90, ..Outcome::default() };
        let of = |early| {
            Facts::from_access((&file, &file), (AccessShift::Shifted(5, -70), 12), early, Some(Tiling::from_key(5)))
        };
        let mut one = Facts { limit: 1000, ..of(Some(&early)) };
        one.fail(3);
        for own in [one, of(None), Facts::NONE] {
            assert_eq!(wire::from_bytes(&wire::to_bytes(&own)), Some(own));
            let mut all = Facts::NONE;
            all.merge(&own);
            assert_eq!(all, own);
        }
        assert_eq!((one.transferred, one.left, one.is_inline), (90, AccessStats::NONE, true));
        one.merge(&of(None));
        assert_eq!((one.failed, one.all.bytes, one.left.bytes, one.is_inline), (Some(3), 180, 90, false));
        assert_eq!((one.all.most, one.all.requests, one.all.span()), (9, 18, 250));
    }

    /// Returns the result of the agreement of ranks with these accesses. With `tiling`, ranks hash their pieces; the
    /// ranks in `early` have already written their bytes.
    fn agreed(files: &[Extents], tiling: Option<Tiling>, early: &[usize]) -> Agreed {
        let of = |(rank, file): (usize, &Extents)| {
            let outcome = Outcome { bytes: file.bytes(), ..Outcome::default() };
            Facts::from_access((file, file), (AccessShift::No, 0), early.contains(&rank).then_some(&outcome), tiling)
        };
        let ranks: Vec<_> = files.iter().enumerate().map(of).collect();
        let mut all = Facts::NONE;
        ranks.iter().for_each(|facts| all.merge(facts));
        let ranges = RankRanges::from_ranges(ranks.iter().filter_map(Facts::range));
        Agreed::from_facts(&all, &ranges, tiling.unwrap_or(Tiling::from_key(7)), None, Direction::Write)
    }

    #[test]
    fn tiling_pieces_and_disjoint_ranges_are_disjoint() {
        let all =
            |files: &[Extents], look: bool| agreed(files, look.then_some(Tiling::from_key(11)), &[]).shape.disjoint;
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
        assert_eq!((apart.shape.left.bytes, apart.shape.transferred, apart.redone), (100, 100, false));
        let overlapping = agreed(&[block(0), block(50)], None, &[0]);
        assert_eq!((overlapping.shape.left.bytes, overlapping.shape.transferred, overlapping.redone), (200, 0, true));
        assert!([apart, overlapping].iter().all(|one| wire::from_bytes(&wire::to_bytes(one)) == Some(*one)));
    }

    #[test]
    fn large_pieces_without_overlaps_are_written_directly() {
        let path = |files: &[Extents]| {
            let hints = Hints::default();
            let windows = WindowPlanner { memory: 1 << 24, memory_if_slow: 1 << 24, lock_unit: 1, direct_from: None };
            let rules = Rules {
                hints: &hints,
                windows: &windows,
                direction: Direction::Write,
                in_memory: true,
                ranks: 4,
                slow_call: None,
            };
            rules.decide(&agreed(files, Some(Tiling::from_key(99)), &[]).shape).path
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
