//! An open classic file: dimensions, global attributes and integer variables by name.

use std::path::Path;

use crate::error::PatternError;
use crate::source::Source;

use super::cursor::be;
use super::header::{Attribute, Header, Variable};
use super::{CHAR, INT};

/// A classic file whose header has been read.
pub struct File {
    name: String,
    source: Source,
    header: Header,
}

impl File {
    /// Maps and reads a file.
    ///
    /// # Errors
    /// A file that cannot be opened or is no NetCDF classic file, or a damaged header.
    pub fn open(path: &Path) -> Result<Self, PatternError> {
        Self::from_bytes(&path.display().to_string(), Source::map(path, "a NetCDF file")?)
    }

    /// Reads a file from its bytes; `name` is what errors call it.
    ///
    /// # Errors
    /// No NetCDF classic file, or a damaged header.
    pub fn from_bytes(name: &str, bytes: impl Into<Source>) -> Result<Self, PatternError> {
        let source = bytes.into();
        let header = Header::parse(name, &source)?;
        Ok(Self { name: name.to_string(), source, header })
    }

    /// What errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The length of a dimension.
    ///
    /// # Errors
    /// No such dimension.
    pub fn dimension(&self, name: &str) -> Result<u64, PatternError> {
        let found = self.header.dimensions.iter().find(|d| d.name == name);
        found.map(|d| d.length).ok_or_else(|| self.wrong(&format!("dimension {name}"), "is missing"))
    }

    /// The values of a global attribute of 32-bit integers.
    ///
    /// # Errors
    /// No such attribute, or another type.
    pub fn attribute_ints(&self, name: &str) -> Result<Vec<i32>, PatternError> {
        let attribute = self.attribute(name, INT, "32-bit integers")?;
        Ok(self.source[attribute.values.clone()].chunks_exact(4).map(|b| be(b) as u32 as i32).collect())
    }

    /// A global attribute of text.
    ///
    /// # Errors
    /// No such attribute, another type, or no UTF-8.
    pub fn attribute_text(&self, name: &str) -> Result<String, PatternError> {
        let attribute = self.attribute(name, CHAR, "text")?;
        let text = std::str::from_utf8(&self.source[attribute.values.clone()]);
        text.map(str::to_string).map_err(|_| self.wrong(&format!("attribute {name}"), "is no UTF-8"))
    }

    fn attribute(&self, name: &str, kind: u32, kind_name: &str) -> Result<&Attribute, PatternError> {
        let place = format!("attribute {name}");
        let found = self.header.attributes.iter().find(|a| a.name == name);
        let attribute = found.ok_or_else(|| self.wrong(&place, "is missing"))?;
        if attribute.kind != kind {
            return Err(self.wrong(&place, format!("has the type {}, not {kind} ({kind_name})", attribute.kind)));
        }
        Ok(attribute)
    }

    /// Whether a variable is there.
    pub fn has_variable(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// A variable of `count` 32-bit integers. Nothing is copied; the values are read where they lie.
    ///
    /// # Errors
    /// No such variable, another type or number of elements, a record variable, or data beyond the end of the file.
    pub fn ints(&self, name: &str, count: u64) -> Result<Ints, PatternError> {
        let place = format!("variable {name}");
        let variable = self.find(name).ok_or_else(|| self.wrong(&place, "is missing"))?;
        if variable.kind != INT {
            return Err(self.wrong(&place, format!("has the type {}, not {INT} (32-bit integers)", variable.kind)));
        }
        let lengths = variable.dimensions.iter().map(|&d| self.header.dimensions[d].length);
        if lengths.clone().any(|length| length == 0) && count > 0 {
            return Err(self.wrong(&place, "has a dimension of length 0 (a record variable?)"));
        }
        let elements = lengths.clone().try_fold(1u64, u64::checked_mul);
        if elements != Some(count) {
            let shape: Vec<u64> = lengths.collect();
            return Err(self.wrong(&place, format!("has the shape {shape:?}, not {count} elements")));
        }
        let end = count.checked_mul(4).and_then(|bytes| bytes.checked_add(variable.begin));
        match end {
            Some(end) if end <= self.source.len() as u64 => {
                Ok(Ints { source: self.source.clone(), begin: variable.begin as usize, count: count as usize })
            }
            _ => {
                let (begin, size) = (variable.begin, self.source.len());
                let problem =
                    format!("{count} elements from byte {begin} on, and the file has {size} bytes: truncated?");
                Err(self.wrong(&place, problem))
            }
        }
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        self.header.variables.iter().find(|v| v.name == name)
    }

    /// An error in this file.
    pub fn wrong(&self, place: &str, problem: impl ToString) -> PatternError {
        PatternError::input(&self.name, place, problem)
    }
}

/// The values of a variable of 32-bit integers, in the file's bytes.
#[derive(Debug, Clone)]
pub struct Ints {
    source: Source,
    begin: usize,
    count: usize,
}

impl Ints {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The values of `range`, cut at the end of the variable.
    pub fn range(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = i32> + '_ {
        let end = range.end.min(self.count);
        let start = range.start.min(end);
        let bytes = &self.source[self.begin + 4 * start..self.begin + 4 * end];
        bytes.chunks_exact(4).map(|b| be(b) as u32 as i32)
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = i32> + '_ {
        self.range(0..self.count)
    }
}
