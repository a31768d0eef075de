//! Defines the errors of patterns: one line that names the file or argument, the position in it, and the problem.

use std::path::Path;

use tributary_netcdf::reader::ReadError;

/// An error of a pattern: a system call, an input file or a parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// An operating-system call failed.
    #[error("{path}: {operation} failed: {cause}")]
    Io {
        /// Path of the file.
        path: String,
        /// Name of the operation: `open`, `map` or `write`.
        operation: &'static str,
        /// The operating system's message.
        cause: String,
    },
    /// An input file is damaged, or has another format.
    #[error("{file}: {place}: {problem}")]
    Input {
        /// Name of the file.
        file: String,
        /// Variable, attribute or part of the header that is wrong.
        place: String,
        /// Description of the problem.
        problem: String,
    },
    /// A parameter is not allowed.
    #[error("{what}: {value}; allowed: {allowed}")]
    Argument {
        /// Name of the parameter.
        what: String,
        /// Value of the parameter.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A map is used on another number of ranks than it was made for, without folding.
    #[error("map {map} is for {made_for} ranks, not {run_on}; use {made_for} ranks, or fold it with --fold")]
    Ranks {
        /// Name of the map.
        map: String,
        /// Number of ranks that the map was made for.
        made_for: usize,
        /// Number of ranks that the caller asked for.
        run_on: usize,
    },
    /// An error of the library, for example about extents.
    #[error(transparent)]
    Access(#[from] tributary::Error),
}

impl From<ReadError> for PatternError {
    fn from(error: ReadError) -> Self {
        Self::Input { file: error.file, place: error.place, problem: error.problem }
    }
}

impl PatternError {
    /// Returns a [`PatternError::Argument`] from anything that prints.
    pub fn argument(what: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        Self::Argument { what: what.to_string(), value: value.to_string(), allowed: allowed.to_string() }
    }

    /// Returns a [`PatternError::Input`] from anything that prints.
    pub fn input(file: impl ToString, place: impl ToString, problem: impl ToString) -> Self {
        Self::Input { file: file.to_string(), place: place.to_string(), problem: problem.to_string() }
    }

    /// Returns a [`PatternError::Io`] from the system's error.
    pub fn io(path: &Path, operation: &'static str, cause: &std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), operation, cause: cause.to_string() }
    }
}
