//! Stretches a pattern to more ranks than it was recorded on.

use std::fs::File;

use tributary::{Extent, Extents};

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::pattern::{Pattern, RankAccess, Totals};

/// A pattern on `times` as many ranks, with `times` as many bytes: each rank becomes `times` ranks with as many
/// requests of the same sizes, and each extent of the file becomes `times` extents side by side, one for each of
/// these ranks.
///
/// So a rank does what it did, an aggregator gets data from more ranks, and pieces of different ranks stay
/// interleaved as they were (weak scaling). Only a capture on this number of ranks shows for sure what a program does
/// there.
pub struct Stretched<P> {
    pattern: P,
    times: usize,
}

impl<P: Pattern> Stretched<P> {
    /// Creates the pattern on `ranks` ranks.
    ///
    /// # Errors
    /// `ranks` is no multiple of the pattern's number, or offsets are beyond 2^63 - 1.
    pub fn new(pattern: P, ranks: usize) -> Result<Self, PatternError> {
        let own = pattern.ranks();
        if ranks == 0 || !ranks.is_multiple_of(own) {
            return Err(PatternError::argument("ranks", ranks, format!("a multiple of {own}, the pattern's ranks")));
        }
        let times = ranks / own;
        let size = pattern.totals().file_size;
        if size.checked_mul(times as u64).is_none_or(|size| size > i64::MAX as u64) {
            return Err(PatternError::argument(
                "ranks",
                ranks,
                format!("fewer: {times} x {size} bytes are over 2^63 - 1"),
            ));
        }
        Ok(Self { pattern, times })
    }

    /// Returns the pattern that is stretched.
    pub fn pattern(&self) -> &P {
        &self.pattern
    }

    /// Returns a rank that stands in for `rank` in a simulation. Of the ranks that one rank became, `parts` stand in
    /// for their neighbours, whose requests have the same sizes and begin a few lengths earlier or later. Returns
    /// `rank` itself if one rank became at most `parts` ranks.
    pub fn stand_in(&self, rank: usize, parts: usize) -> usize {
        let (first, part) = (rank / self.times * self.times, rank % self.times);
        let group = self.times.div_ceil(parts.max(1));
        first + (part / group * group + group / 2).min(self.times - 1)
    }
}

/// Returns the extents of number `part` of the `times` ranks that one rank became.
fn stretched(extents: &Extents, times: u64, part: u64) -> Result<Extents, PatternError> {
    let moved = |extent: Extent| Extent { offset: extent.offset * times + extent.len * part, len: extent.len };
    Ok(Extents::from_extents(extents.iter().map(moved))?)
}

impl<P: Pattern> Pattern for Stretched<P> {
    fn name(&self) -> &str {
        self.pattern.name()
    }

    fn ranks(&self) -> usize {
        self.pattern.ranks() * self.times
    }

    fn describe(&self) -> String {
        match self.times {
            1 => self.pattern.describe(),
            times => format!("{}; each rank as {times}", self.pattern.describe()),
        }
    }

    fn steps(&self) -> usize {
        self.pattern.steps()
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        let mut access = self.pattern.rank_access(rank / self.times, step)?;
        access.file = stretched(&access.file, self.times as u64, (rank % self.times) as u64)?;
        Ok(access)
    }

    /// Fills `data` as the original rank does: a simulation does not use the bytes.
    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.pattern.fill(rank / self.times, step, data)
    }

    fn overlaps(&self) -> bool {
        self.pattern.overlaps()
    }

    fn totals(&self) -> Totals {
        let Totals { requests, bytes, file_size } = self.pattern.totals();
        let times = self.times as u64;
        Totals { requests: requests * times, bytes: bytes * times, file_size: file_size * times }
    }

    fn closed_form(&self, _division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        ClosedForm { requests, bytes, metadata_fan_in: None, data_fan_in: None }
    }

    fn write_serially(&self, _file: &File) -> Result<(), PatternError> {
        Err(PatternError::argument("a stretched pattern", "to be written", "forecasts only"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ior, IorOptions, ListPattern};
    use proptest::prelude::*;

    fn extents(pattern: &dyn Pattern) -> Vec<(u64, u64)> {
        let of =
            |rank| pattern.rank_access(rank, 0).unwrap().file.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>();
        (0..pattern.ranks()).flat_map(of).collect()
    }

    fn list(text: &str) -> ListPattern {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lists");
        std::fs::write(&path, text).unwrap();
        ListPattern::open(&path).unwrap()
    }

    #[test]
    fn each_extent_becomes_one_of_each_rank_side_by_side() {
        let two = Stretched::new(list("ranks 2\nrank 0\n0 10\n30 5\nrank 1\n10 20\n"), 4).unwrap();
        assert_eq!(extents(&two), [(0, 10), (60, 5), (10, 10), (65, 5), (20, 20), (40, 20)]);
        assert_eq!(two.totals(), Totals { requests: 6, bytes: 70, file_size: 70 });
    }

    proptest! {
        /// Extents that cover a file without overlap still do so after stretching.
        #[test]
        fn a_file_that_is_covered_stays_covered(cuts in prop::collection::btree_set(1u64..500, 1..30), times in 1usize..6) {
            let mut text = "ranks 3\n".to_string();
            let ends: Vec<u64> = [0].into_iter().chain(cuts).collect();
            for rank in 0..3 {
                text += &format!("rank {rank}\n");
                for pair in ends.windows(2).skip(rank).step_by(3) {
                    text += &format!("{} {}\n", pair[0], pair[1] - pair[0]);
                }
            }
            let size = ends[ends.len() - 1] * times as u64;
            let mut all = extents(&Stretched::new(list(&text), 3 * times).unwrap());
            all.sort_unstable();
            let covered = all.iter().try_fold(0, |end, &(offset, len)| (offset == end).then_some(end + len));
            prop_assert_eq!(covered, Some(size));
        }
    }

    #[test]
    fn few_ranks_stand_for_those_beside_them() {
        let stretched = Stretched::new(Ior::new(4, IorOptions::default()).unwrap(), 40).unwrap();
        let of = |parts| (0..20).map(|rank| stretched.stand_in(rank, parts)).collect::<Vec<_>>();
        assert_eq!(of(2), [[2; 5], [7; 5], [12; 5], [17; 5]].concat());
        assert_eq!(of(3)[..10], [2, 2, 2, 2, 6, 6, 6, 6, 9, 9], "a group that is cut is stood for by its last");
        assert!((10..100).all(|parts| of(parts) == (0..20).collect::<Vec<_>>()));
    }

    #[test]
    fn ranks_that_do_not_fit_are_refused() {
        let ior = || Ior::new(4, IorOptions::default()).unwrap();
        assert!(Stretched::new(ior(), 6).is_err());
        assert!(Stretched::new(ior(), 0).is_err());
        assert_eq!(extents(&Stretched::new(ior(), 4).unwrap()), extents(&ior()));
    }
}
