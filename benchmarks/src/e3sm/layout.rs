//! Computes the layout of a history file, as PnetCDF makes it under the benchmark's hints: the header, the fixed-size
//! variables, then the records, padded only to multiples of 4 bytes.

use tributary_netcdf::{Alignment, Schema, Type, VariableId};

use crate::error::PatternError;
use crate::value::ValueKind;

use super::content::Content;
use super::table;
pub use super::table::VariableOwner;

/// A variable of a history file, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutVariable {
    /// Number of the variable in the order of definition.
    pub number: usize,
    /// Name of the variable.
    pub name: String,
    /// Owner of the variable: the ranks that write it.
    pub owner: VariableOwner,
    /// Lengths of the variable's dimensions, without the unlimited one.
    pub shape: Vec<u64>,
    /// Number of elements in one record (or in all, for a fixed-size variable).
    pub elements: u64,
    /// Type of an element.
    pub kind: ValueKind,
    /// Size of an element, in bytes.
    pub size: u64,
    /// Offset of the first byte in the file, in record 0.
    pub begin: u64,
    /// True if the variable is a record variable, which every record contains anew.
    pub is_record: bool,
}

/// The layout of a history file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryLayout {
    /// Content of the file.
    pub content: Content,
    /// Variables of the file, in the order of definition.
    pub variables: Vec<LayoutVariable>,
    /// Number of bytes before the first variable.
    pub header: u64,
    /// Offset of the first byte of record 0.
    pub begin_of_records: u64,
    /// Number of bytes from the start of a record to the start of the next.
    pub record_size: u64,
    /// Offset of the first byte behind the last variable of the last record.
    pub end: u64,
    schema: Schema,
}

impl HistoryLayout {
    /// Computes the layout of a file over decompositions whose arrays have the dimensions `dims`. Errors call the
    /// decompositions `name`.
    ///
    /// # Errors
    /// The decompositions belong to another case, or the file ends beyond 2^63 - 1 bytes.
    pub fn new(content: Content, name: &str, dims: &[Vec<u64>]) -> Result<Self, PatternError> {
        content.check()?;
        let Content { case, history, element, records } = content;
        if dims.len() != case.decompositions() {
            let problem = format!("is {}; the {case:?} case has {} decompositions", dims.len(), case.decompositions());
            return Err(PatternError::input(name, "dimension num_decomp", problem));
        }
        check_dimensions(content, name, dims)?;
        let (schema, owners) = table::schema(case, history, dims, element)?;
        let places = schema.layout(Alignment::PACKED)?;
        let mut variables = Vec::new();
        for (number, (variable, owner)) in schema.variables().iter().zip(owners).enumerate() {
            let id = VariableId(number);
            let lengths = variable.dimensions.iter().map(|id| schema.dimensions()[id.0].length);
            let shape: Vec<u64> = lengths.skip(usize::from(places.is_record(id))).collect();
            let kind = kind(variable.kind);
            if let VariableOwner::Decomposed(which) = owner
                && dims[which] != shape
            {
                let problem = format!("is {:?}; variable {} has {shape:?}", dims[which], variable.name);
                return Err(PatternError::input(name, format!("attribute D{}.dims", which + 1), problem));
            }
            variables.push(LayoutVariable {
                number,
                name: variable.name.clone(),
                owner,
                elements: shape.iter().product(),
                shape,
                kind,
                size: kind.size() as u64,
                begin: places.begin(id),
                is_record: places.is_record(id),
            });
        }
        let end = places.file_bytes(records as u64);
        let end = end.ok_or_else(|| PatternError::argument("records", records, "a file below 2^63 bytes"))?;
        Ok(Self {
            content,
            variables,
            header: places.header_bytes(),
            begin_of_records: places.begin_of_records(),
            record_size: places.record_size(),
            end,
            schema,
        })
    }

    /// Returns the NetCDF definitions of the file.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the variables that call `step` writes, in the order of the file, with their offsets: the fixed-size
    /// variables in the first call, then the step's record of each record variable.
    pub fn of_step(&self, step: usize) -> impl Iterator<Item = (&LayoutVariable, u64)> {
        let fixed = self.variables.iter().filter(move |variable| step == 0 && !variable.is_record);
        let record = self.variables.iter().filter(|variable| variable.is_record);
        let far = self.record_size * step as u64;
        fixed.map(|variable| (variable, variable.begin)).chain(record.map(move |v| (v, v.begin + far)))
    }
}

/// Checks that the decompositions have the dimensions that the table of the case needs.
fn check_dimensions(content: Content, name: &str, dims: &[Vec<u64>]) -> Result<(), PatternError> {
    let expected: &[usize] = match content.case {
        super::E3smCase::F => &[1, 1, 2],
        super::E3smCase::G => &[1, 1, 2, 2, 2, 2],
        super::E3smCase::I => &[2, 3, 3, 3, 3],
    };
    for (number, (dims, expected)) in dims.iter().zip(expected).enumerate() {
        if dims.len() != *expected {
            let problem = format!("is {dims:?}; the {:?} case has {expected} dimension(s) there", content.case);
            return Err(PatternError::input(name, format!("attribute D{}.dims", number + 1), problem));
        }
    }
    Ok(())
}

/// Returns the payload's type for a NetCDF type. The tables have no other types.
fn kind(kind: Type) -> ValueKind {
    match kind {
        Type::Char => ValueKind::Char,
        Type::Int => ValueKind::Int,
        Type::Float => ValueKind::Float,
        _ => ValueKind::Double,
    }
}
