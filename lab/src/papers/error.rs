//! Errors of reading or measuring a claim: one line each.

use tributary_benchmarks::PatternError;

/// An error of [`crate::papers`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PapersError(String);

impl PapersError {
    /// Returns an error with the text `line`.
    pub fn new(line: impl ToString) -> Self {
        Self(line.to_string())
    }

    /// Returns the same error, with `place` in front.
    pub(super) fn within(self, place: &str) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl From<tributary::Error> for PapersError {
    fn from(error: tributary::Error) -> Self {
        Self::new(error)
    }
}

impl From<PatternError> for PapersError {
    fn from(error: PatternError) -> Self {
        Self::new(error)
    }
}
