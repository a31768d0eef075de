//! Reads files: the definitions, and the values of variables of 32-bit integers.
//!
//! This is for small files that a program without MPI reads, such as the input of a benchmark. Any bytes are
//! accepted: the outcome is a value or one error, and memory is bounded by the size of the file.
//!
//! ```
//! use tributary_netcdf::reader::FileReader;
//! use tributary_netcdf::{Alignment, Format, Schema, Type};
//!
//! let mut schema = Schema::new(Format::Cdf2);
//! let column = schema.define_dimension("column", 3)?;
//! schema.define_variable("owner", Type::Int, &[column])?;
//! let mut bytes = schema.layout(Alignment::PACKED)?.header(0)?;
//! bytes.extend([7i32, 8, 9].map(i32::to_be_bytes).concat());
//!
//! let file = FileReader::new("x.nc", &bytes[..])?;
//! assert_eq!(file.dimension("column")?, 3);
//! assert_eq!(file.ints("owner", 3)?.iter().collect::<Vec<_>>(), [7, 8, 9]);
//! assert_eq!(file.dimension("row").unwrap_err().to_string(), "x.nc: dimension row: is missing");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::{Deref, Range};

use crate::format::Type;
use crate::schema::Attribute;

mod cursor;
mod error;
mod header;

pub use error::ReadError;
pub use header::FileHeader;

use cursor::big_endian;

/// A file whose header has been decoded, for look-ups by name. `B` holds the bytes of the whole file.
/// [`FileReader::ints`] clones `B`, so a clone should cost nothing (`&[u8]`, `Arc<[u8]>`, a mapping behind an `Arc`).
#[derive(Debug, Clone)]
pub struct FileReader<B> {
    name: String,
    bytes: B,
    header: FileHeader,
}

impl<B: Deref<Target = [u8]> + Clone> FileReader<B> {
    /// Decodes the header of a file. Errors call the file `name`.
    ///
    /// # Errors
    /// The file is no NetCDF classic file, or its header is damaged.
    pub fn new(name: &str, bytes: B) -> Result<Self, ReadError> {
        let header = FileHeader::decode(name, &bytes)?;
        Ok(Self { name: name.to_string(), bytes, header })
    }

    /// Returns the name that errors call the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the header of the file, which has all definitions.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// Returns the length of a dimension; 0 for the unlimited one.
    ///
    /// # Errors
    /// There is no dimension of this name.
    pub fn dimension(&self, name: &str) -> Result<u64, ReadError> {
        let found = self.header.dimensions.iter().find(|d| d.name == name);
        found.map(|d| d.length).ok_or_else(|| self.error(&format!("dimension {name}"), "is missing"))
    }

    /// Returns the values of an attribute of the file that has 32-bit integers.
    ///
    /// # Errors
    /// There is no attribute of this name, or it has another type.
    pub fn attribute_ints(&self, name: &str) -> Result<Vec<i32>, ReadError> {
        self.attribute(name, Type::Int, "32-bit integers").map(|attribute| ints(attribute.values.bytes()).collect())
    }

    /// Returns the text of an attribute of the file.
    ///
    /// # Errors
    /// There is no attribute of this name, it has another type, or it is not UTF-8.
    pub fn attribute_text(&self, name: &str) -> Result<String, ReadError> {
        let attribute = self.attribute(name, Type::Char, "text")?;
        let text = std::str::from_utf8(attribute.values.bytes());
        text.map(str::to_string).map_err(|_| self.error(&format!("attribute {name}"), "is no UTF-8"))
    }

    fn attribute(&self, name: &str, kind: Type, kind_name: &str) -> Result<&Attribute, ReadError> {
        let place = format!("attribute {name}");
        let found = self.header.attributes.iter().find(|a| a.name == name);
        let attribute = found.ok_or_else(|| self.error(&place, "is missing"))?;
        self.check_kind(&place, attribute.values.kind(), kind, kind_name)?;
        Ok(attribute)
    }

    fn check_kind(&self, place: &str, found: Type, kind: Type, kind_name: &str) -> Result<(), ReadError> {
        if found == kind {
            return Ok(());
        }
        let problem = format!("has the type {}, not {} ({kind_name})", found.code(), kind.code());
        Err(self.error(place, problem))
    }

    /// Returns true if the file has a variable of this name.
    pub fn has_variable(&self, name: &str) -> bool {
        self.header.variables.iter().any(|v| v.name == name)
    }

    /// Returns the values of a fixed-size variable of `count` 32-bit integers. Does not copy the values.
    ///
    /// # Errors
    /// There is no variable of this name, it has another type or number of elements, it is a record variable, or its
    /// data lie beyond the end of the file.
    pub fn ints(&self, name: &str, count: u64) -> Result<Ints<B>, ReadError> {
        let place = format!("variable {name}");
        let mut variables = self.header.variables.iter().zip(&self.header.begins);
        let found = variables.find(|(variable, _)| variable.name == name);
        let (variable, &begin) = found.ok_or_else(|| self.error(&place, "is missing"))?;
        self.check_kind(&place, variable.kind, Type::Int, "32-bit integers")?;
        let lengths = variable.dimensions.iter().map(|id| self.header.dimensions[id.0].length);
        if lengths.clone().any(|length| length == 0) && count > 0 {
            return Err(self.error(&place, "has a dimension of length 0 (a record variable?)"));
        }
        let elements = lengths.clone().try_fold(1u64, u64::checked_mul);
        if elements != Some(count) {
            let shape: Vec<u64> = lengths.collect();
            return Err(self.error(&place, format!("has the shape {shape:?}, not {count} elements")));
        }
        let end = count.checked_mul(Type::Int.size()).and_then(|bytes| bytes.checked_add(begin));
        match end {
            Some(end) if end <= self.bytes.len() as u64 => {
                Ok(Ints { bytes: self.bytes.clone(), range: begin as usize..end as usize })
            }
            _ => {
                let size = self.bytes.len();
                let problem =
                    format!("{count} elements from byte {begin} on, and the file has {size} bytes: truncated?");
                Err(self.error(&place, problem))
            }
        }
    }

    /// Returns an error about `place` (a variable, attribute or dimension) of this file.
    pub fn error(&self, place: &str, problem: impl std::fmt::Display) -> ReadError {
        ReadError::new(&self.name, place, problem)
    }
}

/// The values of a variable of 32-bit integers, which stay in the bytes of the file.
#[derive(Debug, Clone)]
pub struct Ints<B> {
    bytes: B,
    range: Range<usize>,
}

impl<B: Deref<Target = [u8]>> Ints<B> {
    /// Returns the number of values of the variable.
    pub fn len(&self) -> usize {
        self.range.len() / 4
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Iterates over the values with numbers in `range`, cut at the end of the variable.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = i32> + '_ {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        ints(&self.bytes[self.range.clone()][4 * start..4 * end])
    }

    /// Iterates over all values.
    pub fn iter(&self) -> impl Iterator<Item = i32> + '_ {
        ints(&self.bytes[self.range.clone()])
    }
}

/// Iterates over the 32-bit integers in `bytes`, which are big-endian.
fn ints(bytes: &[u8]) -> impl Iterator<Item = i32> + '_ {
    bytes.chunks_exact(4).map(|value| big_endian(value) as u32 as i32)
}
