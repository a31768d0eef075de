//! Implements [`Pattern`] for [`E3sm`]; a step is a record.

use std::fs::File;

use tributary::access::BufferLayout;

use crate::closed_form::{ClosedForm, Division};
use crate::error::PatternError;
use crate::netcdf_case::NetcdfCase;
use crate::pattern::{Pattern, RankAccess, Totals};
use crate::value::fill_elements;

use super::case::{E3sm, sums};
use super::content::E3smCase;
use super::layout::{LayoutVariable, VariableOwner};
use super::{serial, view};

impl Pattern for E3sm {
    fn name(&self) -> &str {
        match self.layout.content.case {
            E3smCase::F => "e3sm-f",
            E3smCase::G => "e3sm-g",
            E3smCase::I => "e3sm-i",
        }
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        let made_for = self.source.ranks();
        let folded = if made_for == self.ranks { String::new() } else { format!(" folded from {made_for}") };
        let records = match self.layout.content.records {
            1 => String::new(),
            records => format!(", {records} records"),
        };
        format!(
            "E3SM-IO {}: {} variables, {} columns, {} bytes an element{records}, {} ranks{folded}; map {}",
            self.title(),
            self.layout.variables.len(),
            self.source.dims()[0].iter().product::<u64>(),
            self.layout.content.element.size(),
            self.ranks,
            self.source.name()
        )
    }

    fn steps(&self) -> usize {
        self.layout.content.records
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        let lists = self.lists(rank, step)?;
        let file = view::extents(self.layout.of_step(step), &lists, rank == 0)?;
        let requests = sums(self.layout.of_step(step), &lists.counts(), rank == 0).requests;
        Ok(RankAccess { file, layout: BufferLayout::Contiguous, requests })
    }

    fn fill(&self, rank: usize, step: usize, buffer: &mut [u8]) -> Result<(), PatternError> {
        let lists = self.lists(rank, step)?;
        let bytes = sums(self.layout.of_step(step), &lists.counts(), rank == 0).bytes;
        if buffer.len() as u64 != bytes {
            return Err(PatternError::argument("buffer", format!("{} bytes", buffer.len()), format!("{bytes} bytes")));
        }
        let mut rest = buffer;
        for (variable, _) in self.layout.of_step(step) {
            match variable.owner {
                VariableOwner::Root if rank == 0 => rest = put(rest, variable, step, 0..variable.elements),
                VariableOwner::Root => {}
                VariableOwner::Decomposed(which) => {
                    for entry in lists.entries(which) {
                        rest = put(rest, variable, step, entry.offset..entry.offset + entry.length);
                    }
                }
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the closed form. The elements of every rank are spread over every variable, so in the worst case every
    /// rank sends to every aggregator in every round. The benchmark's maps of the F case reach this bound.
    fn closed_form(&self, _division: Division) -> ClosedForm {
        let ranks = Some(self.ranks.min(self.source.ranks()) as u64);
        let Totals { requests, bytes, .. } = self.totals;
        ClosedForm { requests, bytes, metadata_fan_in: ranks, data_fan_in: ranks }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        serial::write(&*self.source, &self.layout, file)
    }

    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        Some(self)
    }
}

/// Writes the values of elements of record `step` to the front of `buffer`; returns the rest of `buffer`.
pub(super) fn put<'a>(
    buffer: &'a mut [u8],
    variable: &LayoutVariable,
    step: usize,
    elements: std::ops::Range<u64>,
) -> &'a mut [u8] {
    let (front, rest) = buffer.split_at_mut((variable.size * (elements.end - elements.start)) as usize);
    let first = if variable.is_record { step as u64 * variable.elements } else { 0 };
    fill_elements(variable.kind, variable.number, first + elements.start, front);
    rest
}
