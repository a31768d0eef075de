//! Generates decompositions similar to those of the cases, for any number of ranks.
//!
//! The climate model distributes its columns in chunks whose columns lie far apart, so a rank owns a few short runs spread
//! over the whole array. Here the columns are divided into `groups` bands. In each band each rank owns one run, in a random
//! order of the ranks that is the same in all bands.
//!
//! - F: D2 is these runs, D3 the same on every level, D1 one run of the rank's size. 36 columns and 13 groups give the
//!   requests and bytes of the production run on 21,600 ranks within 0.3 %; 54 and 25 are like the small map (ne4) on 16
//!   ranks, 96 and 16 like the one on 512 (ne30).
//! - G: the columns are cells of the ocean's mesh, D1; it has three edges (D2) and two vertices for a cell. D3 to D6 are
//!   the levels below each cell, edge and vertex, which lie next to each other in the file.
//! - I: the bands are the rows of a grid, in which cells that are not land have no owner. D2 to D5 are D1 on several levels.

use crate::error::PatternError;
use crate::value::splitmix64;

use super::content::E3smCase;
use super::decomposition::{Decompositions, Entry};

/// Number of levels of the atmosphere in the F case.
const LEVELS: u64 = 72;
/// Number of levels of the ocean in the G case; there is one more interface between levels.
const OCEAN_LEVELS: u64 = 100;
/// Numbers of levels of D2 to D5 in the I case.
const LAND_LEVELS: [u64; 4] = [15, 10, 9, 17];

/// Options of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// Number of columns of each rank. Default 36.
    pub columns_per_rank: u64,
    /// Number of runs (consecutive columns) of each rank, at most its number of columns. Default 13.
    pub groups: u64,
    /// Seed of the random order of the ranks. Default 0.
    pub seed: u64,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        Self { columns_per_rank: 36, groups: 13, seed: 0 }
    }
}

/// The form of a decomposition, made of the runs of columns.
#[derive(Debug, Clone, Copy)]
enum DecompositionForm {
    /// One run for each rank, as long as the rank's columns.
    Block,
    /// The runs, each column with this number of elements.
    Runs(u64),
    /// The runs, repeated on this number of levels.
    Levels(u64),
    /// The runs, each column with this number of elements, and each element with a row of this number of levels.
    Rows(u64, u64),
}

/// Generated decompositions. Takes 4 bytes of memory per rank; a rank's entries are computed on demand.
pub struct Generator {
    name: String,
    options: GeneratorOptions,
    /// Position of every rank in a band.
    place: Vec<u32>,
    /// True if bands are rows of a grid, which all have the length of the longest.
    is_grid: bool,
    forms: Vec<DecompositionForm>,
    dims: Vec<Vec<u64>>,
}

impl Generator {
    /// Generates decompositions of the F case for `ranks` ranks.
    ///
    /// # Errors
    /// There are no ranks or too many, no columns, no groups, or more groups than a rank has columns.
    pub fn new(ranks: usize, options: GeneratorOptions) -> Result<Self, PatternError> {
        Self::from_case(E3smCase::F, ranks, options)
    }

    /// Generates decompositions of a case for `ranks` ranks.
    ///
    /// # Errors
    /// The errors of [`Generator::new`].
    pub fn from_case(case: E3smCase, ranks: usize, options: GeneratorOptions) -> Result<Self, PatternError> {
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
        let is_grid = case == E3smCase::I;
        // A grid's last row is as long as the others, even if fewer of its columns have an owner; and no case has more than
        // 300 elements per column.
        let columns =
            u64::from(count) * if is_grid { columns_per_rank.next_multiple_of(groups) } else { columns_per_rank };
        if columns > i64::MAX as u64 / (3 * OCEAN_LEVELS) {
            let given = format!("{columns_per_rank} on {ranks} ranks");
            return Err(PatternError::argument("columns per rank", given, "below 2^63 elements on all levels"));
        }
        let name = format!("generated({columns_per_rank} columns per rank in {groups} groups, seed {seed})");
        let (forms, dims) = forms(case, columns, groups);
        Ok(Self { name, options, place: permutation(count, seed), is_grid, forms, dims })
    }

    /// Returns the run of `rank` in every band, in ascending order.
    fn runs(&self, rank: usize) -> impl Iterator<Item = Entry> + '_ {
        let GeneratorOptions { columns_per_rank, groups, .. } = self.options;
        let (least, more) = (columns_per_rank / groups, columns_per_rank % groups);
        let ranks = self.place.len() as u64;
        let place = u64::from(self.place[rank]);
        let longest = columns_per_rank.div_ceil(groups);
        (0..groups).map(move |group| {
            let length = least + u64::from(group < more);
            if self.is_grid {
                return Entry { offset: (group * ranks + place) * longest, length };
            }
            let before = group * least + group.min(more);
            Entry { offset: before * ranks + place * length, length }
        })
    }
}

/// Returns the decompositions of a case over `columns` columns, and their dimensions.
fn forms(case: E3smCase, columns: u64, groups: u64) -> (Vec<DecompositionForm>, Vec<Vec<u64>>) {
    let all = match case {
        E3smCase::F => vec![
            (DecompositionForm::Block, vec![columns]),
            (DecompositionForm::Runs(1), vec![columns]),
            (DecompositionForm::Levels(LEVELS), vec![LEVELS, columns]),
        ],
        E3smCase::G => vec![
            (DecompositionForm::Runs(1), vec![columns]),
            (DecompositionForm::Runs(3), vec![3 * columns]),
            (DecompositionForm::Rows(1, OCEAN_LEVELS), vec![columns, OCEAN_LEVELS]),
            (DecompositionForm::Rows(3, OCEAN_LEVELS), vec![3 * columns, OCEAN_LEVELS]),
            (DecompositionForm::Rows(2, OCEAN_LEVELS), vec![2 * columns, OCEAN_LEVELS]),
            (DecompositionForm::Rows(1, OCEAN_LEVELS + 1), vec![columns, OCEAN_LEVELS + 1]),
        ],
        E3smCase::I => {
            let (rows, row) = (groups, columns / groups);
            let levels = LAND_LEVELS.map(|levels| (DecompositionForm::Levels(levels), vec![levels, rows, row]));
            std::iter::once((DecompositionForm::Runs(1), vec![rows, row])).chain(levels).collect()
        }
    };
    all.into_iter().unzip()
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
        let Some(form) = self.forms.get(which).filter(|_| rank < self.place.len()) else { return };
        let scaled = |by: u64| self.runs(rank).map(move |e| Entry { offset: by * e.offset, length: by * e.length });
        match *form {
            DecompositionForm::Block => {
                let length = self.options.columns_per_rank;
                visitor(Entry { offset: rank as u64 * length, length });
            }
            DecompositionForm::Runs(by) => scaled(by).for_each(visitor),
            DecompositionForm::Levels(levels) => {
                let plane: u64 = self.dims[which][1..].iter().product();
                (0..levels)
                    .flat_map(|level| self.runs(rank).map(move |e| Entry { offset: e.offset + level * plane, ..e }))
                    .for_each(visitor);
            }
            DecompositionForm::Rows(by, levels) => {
                let elements = scaled(by).flat_map(|e| e.offset..e.offset + e.length);
                elements.map(|element| Entry { offset: element * levels, length: levels }).for_each(visitor);
            }
        }
    }

    fn is_levels_of(&self, which: usize, base: usize) -> bool {
        matches!(
            (self.forms.get(which), self.forms.get(base)),
            (Some(DecompositionForm::Levels(_)), Some(DecompositionForm::Runs(1)))
        )
    }
}

/// Returns a random order of `0..count`: Fisher and Yates, driven by splitmix64.
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
