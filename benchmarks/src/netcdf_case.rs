//! A pattern that is a NetCDF file: its definitions, and what every rank puts in every step.

use tributary_netcdf::{Alignment, Requests, Schema, VariableId};

use crate::error::PatternError;

/// One rank's part of one variable in one step, as the code hands it to its I/O library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The variable.
    pub variable: VariableId,
    /// Its parts: (start, count) along each dimension, the unlimited one included.
    pub requests: Requests,
    /// The elements of the parts, one part after the other, as they lie in the file: big-endian, of the variable's type.
    pub data: Vec<u8>,
}

/// A pattern's NetCDF file. Pure, as [`crate::Pattern`] is: the same on every rank and in every run.
pub trait NetcdfCase: Send + Sync {
    /// The file's definitions.
    fn schema(&self) -> &Schema;

    /// The alignment hints that the code sets.
    fn alignment(&self) -> Alignment;

    /// What `rank` puts in call `step`. O(its requests) time and memory.
    ///
    /// # Errors
    /// A rank or step out of range.
    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError>;
}
