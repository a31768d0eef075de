//! Pattern whose calls are repeated.

use std::fs::File;

use tributary_benchmarks::{ClosedForm, Division, Pattern, PatternError, RankAccess, Totals};

/// Calls of a pattern, repeated. The file is the same as after one pass.
pub struct Passes<'a> {
    /// Pattern whose calls are repeated.
    pub pattern: &'a dyn Pattern,
    /// Number of passes over the calls.
    pub count: usize,
}

impl Passes<'_> {
    fn step(&self, step: usize) -> usize {
        step % self.pattern.steps().max(1)
    }
}

impl Pattern for Passes<'_> {
    fn name(&self) -> &str {
        self.pattern.name()
    }

    fn ranks(&self) -> usize {
        self.pattern.ranks()
    }

    fn describe(&self) -> String {
        format!("{}, {} times", self.pattern.describe(), self.count)
    }

    fn steps(&self) -> usize {
        self.pattern.steps() * self.count
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        self.pattern.rank_access(rank, self.step(step))
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.pattern.fill(rank, self.step(step), data)
    }

    fn overlaps(&self) -> bool {
        self.pattern.overlaps()
    }

    fn fill_as_read(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        self.pattern.fill_as_read(rank, self.step(step), data)
    }

    fn totals(&self) -> Totals {
        let Totals { requests, bytes, file_size } = self.pattern.totals();
        let count = self.count as u64;
        Totals { requests: requests * count, bytes: bytes * count, file_size }
    }

    fn closed_form(&self, division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        ClosedForm { requests, bytes, ..self.pattern.closed_form(division) }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        self.pattern.write_serially(file)
    }
}
