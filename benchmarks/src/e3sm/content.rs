//! The cases of the benchmark, their history files and contents.

use tributary_netcdf::Type;

use crate::error::PatternError;

/// A case of the benchmark: a component of the climate model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum E3smCase {
    /// The atmosphere: 3 decompositions.
    #[default]
    F,
    /// The ocean: 6 decompositions.
    G,
    /// The land: 5 decompositions.
    I,
}

impl E3smCase {
    /// Returns the number of decompositions.
    pub fn decompositions(self) -> usize {
        match self {
            Self::F => 3,
            Self::G => 6,
            Self::I => 5,
        }
    }
}

/// A history file of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// The large one. The only one of the G case.
    #[default]
    H0,
    /// The small one of the F case; for the I case almost the same again.
    H1,
}

/// The external type of the variables whose type the user may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ElementType {
    /// 8 bytes: the benchmark's default.
    #[default]
    Double,
    /// 4 bytes: the benchmark's option `-j`, and the size of the published production runs. What is a double by
    /// definition (coordinates, say: `lat`, `lon` and `area` of the F case) stays one.
    Float,
}

impl ElementType {
    /// Returns the type in the file.
    pub fn kind(self) -> Type {
        match self {
            Self::Double => Type::Double,
            Self::Float => Type::Float,
        }
    }

    /// Returns the number of bytes of an element.
    pub fn size(self) -> u64 {
        self.kind().size()
    }
}

/// The contents of a file of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The case. Default F.
    pub case: E3smCase,
    /// The file. Default h0.
    pub history: History,
    /// The type of its fields. Default double; the G case has no other.
    pub element: ElementType,
    /// Number of records, each appended by one collective call; the first writes the fixed-size variables too. Default 1,
    /// which is all that the benchmark writes to h0 of the F case and h1 of the I case.
    pub records: usize,
}

impl Default for Content {
    fn default() -> Self {
        Self { case: E3smCase::F, history: History::H0, element: ElementType::Double, records: 1 }
    }
}

impl Content {
    /// Checks that the benchmark has such a file.
    ///
    /// # Errors
    /// h1 or floats of the G case, no records.
    pub(super) fn check(&self) -> Result<(), PatternError> {
        if self.case == E3smCase::G && self.history == History::H1 {
            return Err(PatternError::argument("history file of the G case", "h1", "h0, its only one"));
        }
        if self.case == E3smCase::G && self.element == ElementType::Float {
            return Err(PatternError::argument("type of the G case", "float", "double, its only one"));
        }
        if self.records == 0 {
            return Err(PatternError::argument("records", 0, "1 or more"));
        }
        Ok(())
    }
}
