//! The history file h0 of the F case: its 414 variables and where each lies, for any number of columns.
//!
//! `f_case_h0.tsv` lists them in file order: name, decomposition (`-`: not decomposed, rank 0 writes it), fixed or
//! record, type, dimensions. As PnetCDF lays it out under the benchmark's hints: the header, then the fixed variables,
//! then those of record 0, each one's size rounded up to 4 bytes, no gaps.

use crate::error::PatternError;
use crate::value::Kind;

/// Levels of the atmosphere (dimension `lev`); interfaces between them (`ilev`) are one more.
pub const LEVELS: u64 = 72;
/// Bytes before the first variable.
pub const HEADER: u64 = 99_864;

const TABLE: &str = include_str!("f_case_h0.tsv");

/// The external type of the decomposed variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ElementType {
    /// 8 bytes: the benchmark's default.
    #[default]
    Double,
    /// 4 bytes for every decomposed variable: the size of the published production runs. The benchmark's own option
    /// `-j` keeps `lat`, `lon` and `area` at 8 bytes and has a header 200 bytes shorter, so its file differs by that.
    Float,
}

impl ElementType {
    /// The type in the file.
    pub fn kind(self) -> Kind {
        match self {
            Self::Double => Kind::Double,
            Self::Float => Kind::Float,
        }
    }

    /// Bytes of an element.
    pub fn size(self) -> u64 {
        self.kind().size() as u64
    }
}

/// Who writes a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Rank 0, whole.
    Root,
    /// All ranks, by the decomposition of this number (from 0).
    Decomposed(usize),
}

/// A variable in the file, record 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Who writes it.
    pub owner: Owner,
    /// Number of elements.
    pub elements: u64,
    /// Type of an element.
    pub kind: Kind,
    /// Bytes of an element.
    pub size: u64,
    /// First byte in the file.
    pub begin: u64,
}

/// All variables in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the grid (dimension `ncol`).
    pub columns: u64,
    /// Type of the decomposed variables.
    pub element: ElementType,
    /// The variables.
    pub variables: Vec<Variable>,
    /// One past the last variable.
    pub end: u64,
}

impl Layout {
    /// Lays the file out.
    ///
    /// # Errors
    /// A file beyond 2^63 - 1 bytes.
    pub fn new(columns: u64, element: ElementType) -> Result<Self, PatternError> {
        let mut variables = Vec::new();
        let mut end = HEADER;
        for line in TABLE.lines() {
            let variable = variable(line, columns, element, end)?;
            let bytes = variable.elements.checked_mul(variable.size).and_then(|b| b.checked_next_multiple_of(4));
            let next = bytes.and_then(|bytes| end.checked_add(bytes)).filter(|&next| next <= i64::MAX as u64);
            end = next.ok_or_else(|| PatternError::argument("columns", columns, "a file below 2^63 bytes"))?;
            variables.push(variable);
        }
        Ok(Self { columns, element, variables, end })
    }
}

/// One row of the table.
fn variable(line: &'static str, columns: u64, element: ElementType, begin: u64) -> Result<Variable, PatternError> {
    let wrong =
        || PatternError::input("f_case_h0.tsv", line, "is no row of name, decomposition, fix or rec, type, dimensions");
    let [name, decomposition, _, kind, dims] = line.split('\t').collect::<Vec<_>>()[..] else { return Err(wrong()) };
    let owner = match decomposition {
        "-" => Owner::Root,
        "D1" => Owner::Decomposed(0),
        "D2" => Owner::Decomposed(1),
        "D3" => Owner::Decomposed(2),
        _ => return Err(wrong()),
    };
    let kind = match (owner, kind) {
        (Owner::Decomposed(_), _) => element.kind(),
        (Owner::Root, "char") => Kind::Char,
        (Owner::Root, "int") => Kind::Int,
        (Owner::Root, "double") => Kind::Double,
        _ => return Err(wrong()),
    };
    let mut elements = 1u64;
    for dim in dims.split(',') {
        let length = match dim {
            "-" | "time" => 1,
            "nbnd" => 2,
            "chars" => 8,
            "lev" => LEVELS,
            "ilev" => LEVELS + 1,
            "ncol" => columns,
            _ => return Err(wrong()),
        };
        let product = elements.checked_mul(length);
        elements = product.ok_or_else(|| PatternError::argument("columns", columns, "a file below 2^63 bytes"))?;
    }
    Ok(Variable { name, owner, elements, kind, size: kind.size() as u64, begin })
}
