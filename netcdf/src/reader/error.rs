//! Defines the error of reading a NetCDF file.

/// The error of a file that is damaged, has another format, or lacks an item that the caller asked for. It prints as
/// one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The file's name, as given to [`super::FileReader::new`].
    pub file: String,
    /// The variable, attribute, dimension or part of the header that is wrong.
    pub place: String,
    /// Description of the problem.
    pub problem: String,
}

impl ReadError {
    pub(super) fn new(file: &str, place: &str, problem: impl std::fmt::Display) -> Self {
        Self { file: file.to_string(), place: place.to_string(), problem: problem.to_string() }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.place, self.problem)
    }
}

impl std::error::Error for ReadError {}
