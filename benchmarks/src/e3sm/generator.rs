//! Decompositions of the F case's character for any number of ranks.
//!
//! The model deals its columns in chunks whose columns lie far apart, so a rank owns a few short runs spread over the
//! whole array. Here the columns are cut in `groups` bands; in each band each rank owns one run, at the same place of a
//! random order of the ranks in all bands. D2 is these runs, D3 the same on every level, D1 one run of the rank's size.
//! 36 columns and 13 groups give the requests and bytes of the production run on 21,600 ranks within 0.3 %; 54 and 25 are
//! like the small map (ne4) on 16 ranks, 96 and 16 like the one on 512 (ne30).

use crate::error::PatternError;
use crate::value::splitmix64;

use super::decomposition::{Decompositions, Entry};
use super::f_case::LEVELS;

/// What to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Columns each rank owns. Default 36.
    pub columns_per_rank: u64,
    /// Runs they are in, at most one a column. Default 13.
    pub groups: u64,
    /// Seed of the order of the ranks. Default 0.
    pub seed: u64,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        Self { columns_per_rank: 36, groups: 13, seed: 0 }
    }
}

/// Generated decompositions. Memory: 4 bytes a rank; a rank's entries are computed when asked for.
pub struct Generator {
    name: String,
    options: GeneratorOptions,
    /// The place of every rank in a band.
    place: Vec<u32>,
    dims: [Vec<u64>; 3],
}

impl Generator {
    /// Decompositions over `ranks` ranks.
    ///
    /// # Errors
    /// No ranks or too many, no columns, or groups that are none or more than a rank's columns.
    pub fn new(ranks: usize, options: GeneratorOptions) -> Result<Self, PatternError> {
        let GeneratorOptions { columns_per_rank, groups, seed } = options;
        let Some(count) = u32::try_from(ranks).ok().filter(|&count| count > 0) else {
            return Err(PatternError::argument("ranks", ranks, "1 to 2^32 - 1"));
        };
        if columns_per_rank == 0 || columns_per_rank > u64::from(u32::MAX) {
            return Err(PatternError::argument("columns per rank", columns_per_rank, "1 to 2^32 - 1"));
        }
        if groups == 0 || groups > columns_per_rank {
            let allowed = format!("1 to the columns per rank, {columns_per_rank}");
            return Err(PatternError::argument("groups", groups, allowed));
        }
        let columns = u64::from(count) * columns_per_rank;
        if columns > i64::MAX as u64 / LEVELS {
            let given = format!("{columns_per_rank} on {ranks} ranks");
            return Err(PatternError::argument("columns per rank", given, "below 2^63 elements on all levels"));
        }
        let name = format!("generated({columns_per_rank} columns per rank in {groups} groups, seed {seed})");
        let dims = [vec![columns], vec![columns], vec![LEVELS, columns]];
        Ok(Self { name, options, place: permutation(count, seed), dims })
    }

    /// The rank's run in every band, in ascending order.
    fn runs(&self, rank: usize) -> impl Iterator<Item = Entry> + '_ {
        let GeneratorOptions { columns_per_rank, groups, .. } = self.options;
        let (least, more) = (columns_per_rank / groups, columns_per_rank % groups);
        let ranks = self.place.len() as u64;
        let place = u64::from(self.place[rank]);
        (0..groups).map(move |group| {
            let length = least + u64::from(group < more);
            let before = group * least + group.min(more);
            Entry { offset: before * ranks + place * length, length }
        })
    }
}

impl Decompositions for Generator {
    fn name(&self) -> &str {
        &self.name
    }

    fn ranks(&self) -> usize {
        self.place.len()
    }

    fn dims(&self) -> &[Vec<u64>] {
        &self.dims
    }

    fn visit(&self, which: usize, rank: usize, visitor: &mut dyn FnMut(Entry)) {
        if rank >= self.place.len() {
            return;
        }
        let columns = self.dims[0][0];
        match which {
            0 => {
                let length = self.options.columns_per_rank;
                visitor(Entry { offset: rank as u64 * length, length });
            }
            1 => self.runs(rank).for_each(visitor),
            2 => (0..LEVELS)
                .flat_map(|level| self.runs(rank).map(move |e| Entry { offset: e.offset + level * columns, ..e }))
                .for_each(visitor),
            _ => {}
        }
    }

    fn is_levels_of(&self, which: usize, base: usize) -> bool {
        (which, base) == (2, 1)
    }
}

/// A random order of `0..count`: Fisher and Yates, driven by splitmix64.
fn permutation(count: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    let mut state = seed;
    for last in (1..order.len()).rev() {
        state = splitmix64(state);
        // The high half of a product scales to 0..=last without division; its bias is below 2^-32.
        let other = (u128::from(state) * (last as u128 + 1)) >> 64;
        order.swap(last, other as usize);
    }
    order
}
