//! Defines the cases of the benchmark, their history files and contents.

use tributary_netcdf::Type;

use crate::error::PatternError;

/// A case of the benchmark: a component of the climate model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum E3smCase {
    /// The atmosphere component, which has 3 decompositions (maps of elements to ranks).
    #[default]
    F,
    /// The ocean component, which has 6 decompositions.
    G,
    /// The land component, which has 5 decompositions.
    I,
}

impl E3smCase {
    /// Returns the number of decompositions of the case.
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
    /// The large history file. The G case has only this one.
    #[default]
    H0,
    /// The second history file: small in the F case, nearly as large as h0 in the I case.
    H1,
}

/// The type in the file of the variables whose type the user may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ElementType {
    /// A number of 8 bytes: the benchmark's default.
    #[default]
    Double,
    /// A number of 4 bytes: the benchmark's option `-j`, and the size of the published production runs. Variables
    /// that are doubles by definition (coordinates, for example `lat`, `lon` and `area` of the F case) stay doubles.
    Float,
}

impl ElementType {
    /// Returns the NetCDF type of an element.
    pub fn kind(self) -> Type {
        match self {
            Self::Double => Type::Double,
            Self::Float => Type::Float,
        }
    }

    /// Returns the size of an element, in bytes.
    pub fn size(self) -> u64 {
        self.kind().size()
    }
}

/// The content of a file of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Case of the benchmark. Default F.
    pub case: E3smCase,
    /// History file of the case. Default h0.
    pub history: History,
    /// Type of the file's fields. Default double; the G case has no other.
    pub element: ElementType,
    /// Number of records. One collective call appends each record; the first call writes the fixed-size variables
    /// too. Default 1, the only number that the benchmark writes to h0 of the F case and h1 of the I case.
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
    /// The G case has no h1 and no floats, and there must be at least one record.
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
