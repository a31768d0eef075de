//! The F case as a pattern: every rank writes its elements of all 414 variables of h0 in one collective call.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use tributary::access::BufferLayout;

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::netcdf::Source;
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::value::fill_elements;

use super::decomposition::{Decompositions, share};
use super::f_case::{ElementType, LEVELS, Layout, Owner, Variable};
use super::generator::{Generator, GeneratorOptions};
use super::map::DecompositionMap;
use super::serial;
use super::view::{self, Counts, Lists};

/// A map of 16 ranks with 20 columns each, made by the generator (see `examples/write_map.rs`).
static SMALL_MAP: &[u8] = include_bytes!("../../data/small_map_16p.nc");
/// The name of the shipped map.
pub const SMALL_MAP_NAME: &str = "small_map_16p.nc (shipped)";

/// The F case of E3SM-IO, history file h0, record 0.
#[derive(Clone)]
pub struct E3smF {
    source: Arc<dyn Decompositions>,
    layout: Arc<Layout>,
    ranks: usize,
    totals: Totals,
}

impl E3smF {
    /// The case on decompositions D1, D2 (columns) and D3 (levels and columns), on as many ranks as they have.
    /// O(entries of D1 and D2) time.
    ///
    /// # Errors
    /// Decompositions of another shape.
    pub fn new(source: Arc<dyn Decompositions>, element: ElementType) -> Result<Self, PatternError> {
        let columns = columns(&*source)?;
        let layout = Arc::new(Layout::new(columns, element)?);
        let ranks = source.ranks();
        let totals = totals(&*source, &layout, ranks);
        Ok(Self { source, layout, ranks, totals })
    }

    /// The case on a small map that is part of this crate: 16 ranks, 320 columns, doubles.
    ///
    /// # Errors
    /// None, as long as the shipped map is whole.
    pub fn shipped() -> Result<Self, PatternError> {
        Self::shipped_as(ElementType::Double)
    }

    /// The same with elements of another type.
    ///
    /// # Errors
    /// None, as long as the shipped map is whole.
    pub fn shipped_as(element: ElementType) -> Result<Self, PatternError> {
        let map = DecompositionMap::from_bytes(SMALL_MAP_NAME, Source::from(SMALL_MAP))?;
        Self::new(Arc::new(map), element)
    }

    /// The case on a map file of E3SM-IO.
    ///
    /// # Errors
    /// A file that is missing, damaged, or not of the F case.
    pub fn from_map_file(path: &Path, element: ElementType) -> Result<Self, PatternError> {
        Self::new(Arc::new(DecompositionMap::open(path)?), element)
    }

    /// The case on generated decompositions, for any number of ranks.
    ///
    /// # Errors
    /// Options out of range.
    pub fn generated(ranks: usize, options: GeneratorOptions, element: ElementType) -> Result<Self, PatternError> {
        Self::new(Arc::new(Generator::new(ranks, options)?), element)
    }

    /// The same file written by `ranks` ranks. With `fold`, rank i takes consecutive decomposition ranks (the first
    /// `P % ranks` ranks one more); ranks beyond the map's write nothing, but take part.
    ///
    /// # Errors
    /// No ranks; without `fold`, any number but the map's.
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

    /// The decompositions.
    pub fn decompositions(&self) -> &dyn Decompositions {
        &*self.source
    }

    /// The variables and their places in the file.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn lists(&self, rank: usize, step: usize) -> Result<Lists, PatternError> {
        if step > 0 {
            return Err(PatternError::argument("step", step, "0"));
        }
        if rank >= self.ranks {
            return Err(PatternError::argument("rank", rank, format!("0 to {}", self.ranks - 1)));
        }
        Ok(Lists::of(&*self.source, share(self.source.ranks(), rank, self.ranks)))
    }
}

impl Pattern for E3smF {
    fn name(&self) -> &str {
        "e3sm-f"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        let made_for = self.source.ranks();
        let folded = if made_for == self.ranks { String::new() } else { format!(" folded from {made_for}") };
        format!(
            "E3SM-IO F case h0: {} variables, {} columns, {} bytes an element, {} ranks{folded}; map {}",
            self.layout.variables.len(),
            self.layout.columns,
            self.layout.element.size(),
            self.ranks,
            self.source.name()
        )
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        let lists = self.lists(rank, step)?;
        let file = view::extents(&self.layout, &lists, rank == 0)?;
        Ok(RankAccess {
            file,
            layout: BufferLayout::Contiguous,
            requests: sums(&self.layout, &lists.counts(), rank == 0).requests,
        })
    }

    fn fill(&self, rank: usize, step: usize, buffer: &mut [u8]) -> Result<(), PatternError> {
        let lists = self.lists(rank, step)?;
        let bytes = sums(&self.layout, &lists.counts(), rank == 0).bytes;
        if buffer.len() as u64 != bytes {
            return Err(PatternError::argument("buffer", format!("{} bytes", buffer.len()), format!("{bytes} bytes")));
        }
        let mut rest = buffer;
        for (number, variable) in self.layout.variables.iter().enumerate() {
            match variable.owner {
                Owner::Root if rank == 0 => rest = put(rest, number, variable, 0..variable.elements),
                Owner::Root => {}
                Owner::Decomposed(which) => {
                    for entry in lists.entries(which) {
                        rest = put(rest, number, variable, entry.offset..entry.offset + entry.length);
                    }
                }
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    /// Every rank's columns lie all over every variable, so every rank talks to every aggregator in every round; that is
    /// the bound, and in the maps of the benchmark it is reached.
    fn closed_form(&self, _division: Division) -> ClosedForm {
        let ranks = Some(self.ranks.min(self.source.ranks()) as u64);
        let Totals { requests, bytes, .. } = self.totals;
        ClosedForm { requests, bytes, metadata_fan_in: ranks, data_fan_in: ranks }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        serial::write(&*self.source, &self.layout, file)
    }
}

/// Puts elements at the front of `buffer`; returns what is behind them.
fn put<'a>(buffer: &'a mut [u8], number: usize, variable: &Variable, elements: std::ops::Range<u64>) -> &'a mut [u8] {
    let (front, rest) = buffer.split_at_mut((variable.size * (elements.end - elements.start)) as usize);
    fill_elements(variable.kind, number, elements.start, front);
    rest
}

/// Sums over all variables; `counts` is what one variable of each decomposition takes, `root`: with those of rank 0.
fn sums(layout: &Layout, counts: &[Counts], root: bool) -> Totals {
    let mut sum = Totals { requests: 0, bytes: 0, file_size: 0 };
    for variable in &layout.variables {
        let one = match variable.owner {
            Owner::Root if root => Counts { requests: 1, elements: variable.elements, end: variable.elements },
            Owner::Root => Counts::default(),
            Owner::Decomposed(which) => counts[which],
        };
        sum.requests += one.requests;
        sum.bytes += one.elements * variable.size;
        if one.end > 0 {
            sum.file_size = sum.file_size.max(variable.begin + one.end * variable.size);
        }
    }
    sum
}

/// Sums over all ranks. O(entries of the lists), none of them held longer than its rank takes.
fn totals(source: &dyn Decompositions, layout: &Layout, ranks: usize) -> Totals {
    let mut all = vec![Counts::default(); source.dims().len()];
    // Ranks beyond the map's write nothing.
    for rank in 0..ranks.min(source.ranks()) {
        let one = Lists::of(source, share(source.ranks(), rank, ranks)).counts();
        all.iter_mut().zip(&one).for_each(|(sum, one)| sum.add(one));
    }
    sums(layout, &all, true)
}

/// The number of columns, if the decompositions are the F case's.
fn columns(source: &dyn Decompositions) -> Result<u64, PatternError> {
    let wrong = |place: &str, problem: String| Err(PatternError::input(source.name(), place, problem));
    let [d1, d2, d3] = source.dims() else {
        return wrong("dimension num_decomp", format!("is {}; the F case has 3 decompositions", source.dims().len()));
    };
    let [columns] = d1[..] else {
        return wrong("attribute D1.dims", format!("is {d1:?}; the F case has one dimension, the columns"));
    };
    if d2[..] != [columns] {
        return wrong("attribute D2.dims", format!("is {d2:?}; the F case has [{columns}] there, as in D1.dims"));
    }
    if d3[..] != [LEVELS, columns] {
        return wrong("attribute D3.dims", format!("is {d3:?}; the F case has [{LEVELS}, {columns}] there"));
    }
    Ok(columns)
}
