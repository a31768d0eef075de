//! Makes the cases of E3SM-IO a pattern: every rank writes its elements of all variables of a history file, one
//! record in one collective call.

use std::path::Path;
use std::sync::Arc;

use crate::error::PatternError;
use crate::pattern::Totals;
use crate::source::SharedBytes;

use super::content::{Content, E3smCase, ElementType, History};
use super::decomposition::{Decompositions, share};
use super::generator::{Generator, GeneratorOptions};
use super::layout::{HistoryLayout, LayoutVariable, VariableOwner};
use super::map::DecompositionMap;
use super::view::{Counts, RankLists};

/// Map file of 16 ranks with 20 columns each, made by the generator (see `examples/write_map.rs`).
static SMALL_MAP: &[u8] = include_bytes!("../../data/small_map_16p.nc");
/// Name of the shipped map in errors and reports.
pub const SMALL_MAP_NAME: &str = "small_map_16p.nc (shipped)";
/// Number of ranks of the small decompositions that need no file.
const SMALL_RANKS: usize = 16;
/// Number of columns and groups of each of these ranks in the G and I cases, which have more elements per column than
/// the F case. The groups do not divide the columns, so some cells of the I case's grid have no owner: they are not
/// land.
const SMALL: GeneratorOptions = GeneratorOptions { columns_per_rank: 6, groups: 3, seed: 0 };
const SMALL_LAND: GeneratorOptions = GeneratorOptions { columns_per_rank: 7, ..SMALL };

/// Options of [`E3sm::open`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// Case, history file, element type and number of records.
    pub content: Content,
    /// Map file of the benchmark; without one, decompositions are generated.
    pub map: Option<&'a Path>,
    /// Number of ranks; by default the number that the decompositions were made for.
    pub ranks: Option<usize>,
    /// True if decompositions for another number of ranks are folded onto `ranks`. Without a map and without this,
    /// decompositions are made for `ranks`.
    pub fold: bool,
}

/// The pattern of a history file of E3SM-IO.
#[derive(Clone)]
pub struct E3sm {
    pub(super) source: Arc<dyn Decompositions>,
    pub(super) layout: Arc<HistoryLayout>,
    pub(super) ranks: usize,
    pub(super) totals: Totals,
}

/// Another name of [`E3sm`], for its default content: record 0 of h0 of the F case.
pub type E3smF = E3sm;

impl E3sm {
    /// Creates the pattern that a user's options describe.
    ///
    /// # Errors
    /// The benchmark has no such content, the map is missing, damaged or of another case, or the number of ranks is
    /// not the map's and is not folded.
    pub fn open(options: &Options<'_>) -> Result<Self, PatternError> {
        let Options { content, map, ranks, fold } = *options;
        content.check()?;
        let source: Arc<dyn Decompositions> = match (map, content.case, ranks) {
            (Some(map), ..) => Arc::new(DecompositionMap::open(map)?),
            (None, E3smCase::F, Some(ranks)) if !fold && ranks != SMALL_RANKS => {
                Arc::new(Generator::new(ranks, GeneratorOptions::default())?)
            }
            (None, E3smCase::F, _) => Arc::new(small_map()?),
            (None, case, ranks) => {
                let small = if case == E3smCase::I { SMALL_LAND } else { SMALL };
                let ranks = ranks.filter(|_| !fold).unwrap_or(SMALL_RANKS);
                Arc::new(Generator::from_case(case, ranks, small)?)
            }
        };
        let case = Self::with_content(source, content)?;
        let ranks = ranks.unwrap_or(case.ranks);
        case.with_ranks(ranks, fold)
    }

    /// Creates the pattern of a file on these decompositions, which must fit the case, with as many ranks as they
    /// have. O(entries), without decompositions that repeat another on several levels.
    ///
    /// # Errors
    /// The benchmark has no such content, or the decompositions have another shape.
    pub fn with_content(source: Arc<dyn Decompositions>, content: Content) -> Result<Self, PatternError> {
        let layout = Arc::new(HistoryLayout::new(content, source.name(), source.dims())?);
        let ranks = source.ranks();
        let totals = totals(&*source, &layout, ranks);
        Ok(Self { source, layout, ranks, totals })
    }

    /// Creates the pattern of record 0 of h0 of the F case on decompositions D1, D2 (columns) and D3 (levels and
    /// columns).
    ///
    /// # Errors
    /// The decompositions have another shape.
    pub fn new(source: Arc<dyn Decompositions>, element: ElementType) -> Result<Self, PatternError> {
        Self::with_content(source, Content { element, ..Content::default() })
    }

    /// Creates the pattern of the F case on a small map that is part of this crate: 16 ranks, 320 columns, doubles.
    ///
    /// # Errors
    /// No error occurs unless the shipped map is damaged.
    pub fn shipped() -> Result<Self, PatternError> {
        Self::shipped_as(ElementType::Double)
    }

    /// Creates the pattern of the F case on the small map, with elements of another type.
    ///
    /// # Errors
    /// No error occurs unless the shipped map is damaged.
    pub fn shipped_as(element: ElementType) -> Result<Self, PatternError> {
        Self::new(Arc::new(small_map()?), element)
    }

    /// Creates the pattern of the F case on a map file of E3SM-IO.
    ///
    /// # Errors
    /// The file is missing, damaged, or not of the F case.
    pub fn from_map_file(path: &Path, element: ElementType) -> Result<Self, PatternError> {
        Self::new(Arc::new(DecompositionMap::open(path)?), element)
    }

    /// Creates the pattern of the F case on generated decompositions, for any number of ranks.
    ///
    /// # Errors
    /// An option is out of range.
    pub fn generated(ranks: usize, options: GeneratorOptions, element: ElementType) -> Result<Self, PatternError> {
        Self::new(Arc::new(Generator::new(ranks, options)?), element)
    }

    /// Returns the pattern of the same file, written by `ranks` ranks. With `fold`, rank i takes consecutive
    /// decomposition ranks (the first `P % ranks` ranks one more); ranks beyond the map's number write nothing, but
    /// take part.
    ///
    /// # Errors
    /// `ranks` is 0; or `fold` is false and `ranks` is not the map's number.
    pub fn with_ranks(self, ranks: usize, fold: bool) -> Result<Self, PatternError> {
        let made_for = self.source.ranks();
        if ranks == 0 {
            return Err(PatternError::argument("ranks", 0, "1 or more"));
        }
        if ranks != made_for && !fold {
            return Err(PatternError::Ranks { map: self.source.name().to_string(), made_for, run_on: ranks });
        }
        let totals = totals(&*self.source, &self.layout, ranks);
        Ok(Self { ranks, totals, ..self })
    }

    /// Returns the decompositions: the elements that each rank owns.
    pub fn decompositions(&self) -> &dyn Decompositions {
        &*self.source
    }

    /// Returns the variables and their positions in the file.
    pub fn layout(&self) -> &HistoryLayout {
        &self.layout
    }

    /// Returns the elements that `rank` owns; an error if there is no such rank or step.
    pub(super) fn lists(&self, rank: usize, step: usize) -> Result<RankLists, PatternError> {
        let records = self.layout.content.records;
        if step >= records {
            let allowed = if records == 1 { "0".to_string() } else { format!("0 to {}", records - 1) };
            return Err(PatternError::argument("step", step, allowed));
        }
        if rank >= self.ranks {
            return Err(PatternError::argument("rank", rank, format!("0 to {}", self.ranks - 1)));
        }
        Ok(RankLists::from_decompositions(&*self.source, share(self.source.ranks(), rank, self.ranks)))
    }

    /// Returns the case and the file's name, as text.
    pub(super) fn title(&self) -> String {
        let Content { case, history, .. } = self.layout.content;
        let history = match history {
            History::H0 => "h0",
            History::H1 => "h1",
        };
        format!("{case:?} case {history}")
    }
}

fn small_map() -> Result<DecompositionMap, PatternError> {
    DecompositionMap::from_bytes(SMALL_MAP_NAME, SharedBytes::from(SMALL_MAP))
}

/// Returns the sums over variables with their offsets in the file. `counts` has the counts of one variable of each
/// decomposition; with `root`, the variables that rank 0 writes are included.
pub(super) fn sums<'a>(
    variables: impl Iterator<Item = (&'a LayoutVariable, u64)>,
    counts: &[Counts],
    root: bool,
) -> Totals {
    let mut sum = Totals { requests: 0, bytes: 0, file_size: 0 };
    for (variable, begin) in variables {
        let one = match variable.owner {
            VariableOwner::Root if root => Counts { requests: 1, elements: variable.elements, end: variable.elements },
            VariableOwner::Root => Counts::default(),
            VariableOwner::Decomposed(which) => counts[which],
        };
        sum.requests += one.requests;
        sum.bytes += one.elements * variable.size;
        if one.end > 0 {
            sum.file_size = sum.file_size.max(begin + one.end * variable.size);
        }
    }
    sum
}

/// Returns the sums over all ranks and records. O(entries of the lists); holds no list longer than its rank takes.
fn totals(source: &dyn Decompositions, layout: &HistoryLayout, ranks: usize) -> Totals {
    let mut all = vec![Counts::default(); source.dims().len()];
    // Ranks beyond the map's write nothing.
    for rank in 0..ranks.min(source.ranks()) {
        let one = RankLists::from_decompositions(source, share(source.ranks(), rank, ranks)).counts();
        all.iter_mut().zip(&one).for_each(|(sum, one)| sum.add(one));
    }
    let last = layout.content.records - 1;
    let first = sums(layout.of_step(0), &all, true);
    if last == 0 {
        return first;
    }
    let each = sums(layout.of_step(last), &all, true);
    Totals {
        requests: first.requests + last as u64 * each.requests,
        bytes: first.bytes + last as u64 * each.bytes,
        file_size: first.file_size.max(each.file_size),
    }
}
