//! The header of a classic file, parsed: dimensions, global attributes, variables.

use std::ops::Range;

use crate::error::PatternError;

use super::cursor::{Cursor, Version};
use super::{TAG_ATTRIBUTES, TAG_DIMENSIONS, TAG_VARIABLES};

/// A dimension; length 0 is the record dimension.
pub(super) struct Dimension {
    pub name: String,
    pub length: u64,
}

/// A global attribute: its external type and where its values lie in the file.
pub(super) struct Attribute {
    pub name: String,
    pub kind: u32,
    pub values: Range<usize>,
}

/// A variable: its shape by dimension numbers (checked), external type and first byte.
pub(super) struct Variable {
    pub name: String,
    pub dimensions: Vec<usize>,
    pub kind: u32,
    pub begin: u64,
}

/// Everything of a header but the attributes of variables.
pub(super) struct Header {
    pub dimensions: Vec<Dimension>,
    pub attributes: Vec<Attribute>,
    pub variables: Vec<Variable>,
}

impl Header {
    /// Parses the front of `bytes`, the file named `file`.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, PatternError> {
        let version = magic(file, bytes)?;
        let mut cursor = Cursor { file, bytes, at: 4, version };
        // The number of records: also "streaming", all bits set. Maps have no records.
        cursor.take(version.count_width(), "number of records")?;
        let dimensions = dimensions(&mut cursor)?;
        let attributes = attributes(&mut cursor, "global attributes")?;
        let variables = variables(&mut cursor, dimensions.len())?;
        Ok(Self { dimensions, attributes, variables })
    }
}

/// The format by the first four bytes; says what the file is when it is a known other one.
fn magic(file: &str, bytes: &[u8]) -> Result<Version, PatternError> {
    const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
    let wrong = |problem: String| Err(PatternError::input(file, "file", problem));
    // An HDF5 file may begin with a user block of 512 bytes, or twice that, ...
    if [0, 512, 1024, 2048].iter().any(|&at| bytes.get(at..).is_some_and(|b| b.starts_with(HDF5))) {
        return wrong(
            "is an HDF5 (NetCDF-4) file; only NetCDF classic files are read: convert it with \
             `nccopy -k cdf5 IN OUT`, or dump it with ncdump and make it anew with `ncmpigen -v 5`"
                .to_string(),
        );
    }
    let Some(front) = bytes.get(..4) else {
        return wrong(format!("has {} bytes, too few for a NetCDF file", bytes.len()));
    };
    if &front[..3] != b"CDF" {
        return wrong(format!("is not NetCDF: it begins with \"{}\", not \"CDF\"", front.escape_ascii()));
    }
    match Version::of(front[3]) {
        Some(version) => Ok(version),
        None => wrong(format!("is NetCDF of format version {}; allowed: 1, 2, 5", front[3])),
    }
}

fn dimensions(cursor: &mut Cursor) -> Result<Vec<Dimension>, PatternError> {
    let width = cursor.version.count_width();
    let count = cursor.list(TAG_DIMENSIONS, 2 * width, "dimensions")?;
    let mut all = Vec::new();
    for number in 0..count {
        let name = cursor.name(&format!("dimension {number}"))?;
        let length = cursor.count(&format!("dimension {name}"))?;
        all.push(Dimension { name, length });
    }
    Ok(all)
}

fn attributes(cursor: &mut Cursor, of: &str) -> Result<Vec<Attribute>, PatternError> {
    let width = cursor.version.count_width();
    let count = cursor.list(TAG_ATTRIBUTES, 2 * width + 4, of)?;
    let mut all = Vec::new();
    for number in 0..count {
        let name = cursor.name(&format!("attribute {number} of {of}"))?;
        let place = format!("attribute {name}");
        let kind = cursor.word(&place)?;
        let Some(size) = size_of_kind(kind) else {
            return Err(cursor.wrong(&place, format!("has the type {kind}; allowed: 1 to 11")));
        };
        let values = cursor.count(&place)?;
        let Some(len) = values.checked_mul(size) else {
            return Err(cursor.wrong(&place, format!("claims {values} values")));
        };
        let start = cursor.at;
        cursor.take_padded(len, &place)?;
        all.push(Attribute { name, kind, values: start..start + len as usize });
    }
    Ok(all)
}

fn variables(cursor: &mut Cursor, dimensions: usize) -> Result<Vec<Variable>, PatternError> {
    let width = cursor.version.count_width();
    let count = cursor.list(TAG_VARIABLES, 3 * width + 12, "variables")?;
    let mut all = Vec::new();
    for number in 0..count {
        let name = cursor.name(&format!("variable {number}"))?;
        let place = format!("variable {name}");
        let rank = cursor.count(&place)?;
        if rank > cursor.left() / width {
            return Err(cursor.wrong(&place, format!("claims {rank} dimensions, more than the file has bytes for")));
        }
        let mut shape = Vec::new();
        for _ in 0..rank {
            let id = cursor.count(&place)?;
            if id >= dimensions as u64 {
                return Err(cursor.wrong(&place, format!("has dimension {id}; the file has {dimensions}")));
            }
            shape.push(id as usize);
        }
        attributes(cursor, &place)?;
        let kind = cursor.word(&place)?;
        cursor.count(&place)?; // its size in bytes, which follows from shape and type
        let begin = cursor.offset(&place)?;
        all.push(Variable { name, dimensions: shape, kind, begin });
    }
    Ok(all)
}

/// Bytes of one value of an external type.
fn size_of_kind(kind: u32) -> Option<u64> {
    match kind {
        1 | 2 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 5 | 9 => Some(4),
        6 | 10 | 11 => Some(8),
        _ => None,
    }
}
