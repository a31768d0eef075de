//! Decodes the header of a file: the counterpart of `crate::header::encode`.

use crate::format::{Format, Type};
use crate::header::{ATTRIBUTES, DIMENSIONS, MAGIC, VARIABLES};
use crate::schema::{Attribute, Dimension, DimensionId, Variable};
use crate::values::Values;

use super::ReadError;
use super::cursor::Cursor;

/// The header of a file. Variables refer only to dimensions that the header has; nothing else about the definitions
/// is checked. Names may occur twice, and several dimensions may have length 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHeader {
    /// Format of the file: CDF-1, CDF-2 or CDF-5.
    pub format: Format,
    /// Number of records; `None` if the writer left it open ("streaming").
    pub records: Option<u64>,
    /// The dimensions, in the order of the file.
    pub dimensions: Vec<Dimension>,
    /// The attributes of the file.
    pub attributes: Vec<Attribute>,
    /// The variables, in the order of the file.
    pub variables: Vec<Variable>,
    /// Offset of the first byte of each variable (of its record 0, for a record variable). The offset may lie beyond
    /// the end of the file.
    pub begins: Vec<u64>,
}

impl FileHeader {
    /// Decodes the header at the start of `bytes`. Errors call the file `file`. Memory is bounded by the number of
    /// bytes.
    ///
    /// # Errors
    /// The file has another format, or its header is damaged.
    pub fn decode(file: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let format = format(file, bytes)?;
        let mut cursor = Cursor { file, bytes, at: MAGIC.len() + 1, format };
        let records = records(&mut cursor)?;
        let dimensions = dimensions(&mut cursor)?;
        let attributes = attributes(&mut cursor, "global attributes")?;
        let (variables, begins) = variables(&mut cursor, dimensions.len())?;
        Ok(Self { format, records, dimensions, attributes, variables, begins })
    }
}

/// Returns the format by the first four bytes. If the file has another known format, the error names it.
fn format(file: &str, bytes: &[u8]) -> Result<Format, ReadError> {
    const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
    let error = |problem: String| Err(ReadError::new(file, "file", problem));
    // An HDF5 file may begin with a user block of 512 bytes, or twice that, ...
    if [0, 512, 1024, 2048].iter().any(|&at| bytes.get(at..).is_some_and(|b| b.starts_with(HDF5))) {
        return error(
            "is an HDF5 (NetCDF-4) file; only NetCDF classic files are read: convert it with \
             `nccopy -k cdf5 IN OUT`, or dump it with ncdump and make it anew with `ncmpigen -v 5`"
                .to_string(),
        );
    }
    let Some((front, version)) = bytes.get(..4).map(|front| (front, front[3])) else {
        return error(format!("has {} bytes, too few for a NetCDF file", bytes.len()));
    };
    if !front.starts_with(MAGIC) {
        return error(format!("is not NetCDF: it begins with \"{}\", not \"CDF\"", front.escape_ascii()));
    }
    match Format::from_version(version) {
        Some(format) => Ok(format),
        None => error(format!("is NetCDF of format version {version}; allowed: 1, 2, 5")),
    }
}

/// Returns the number of records. All bits set stand for an unknown number.
fn records(cursor: &mut Cursor) -> Result<Option<u64>, ReadError> {
    const WHAT: &str = "number of records";
    let width = cursor.format.count_width();
    if cursor.bytes[cursor.at..].starts_with(&[u8::MAX; 8][..width]) {
        cursor.take(width as u64, WHAT)?;
        return Ok(None);
    }
    cursor.count(WHAT).map(Some)
}

fn dimensions(cursor: &mut Cursor) -> Result<Vec<Dimension>, ReadError> {
    let count = cursor.list(DIMENSIONS, 2 * cursor.format.count_width(), "dimensions")?;
    let mut all = Vec::new();
    for number in 0..count {
        let name = cursor.name(&format!("dimension {number}"))?;
        let length = cursor.count(&format!("dimension {name}"))?;
        all.push(Dimension { name, length });
    }
    Ok(all)
}

fn attributes(cursor: &mut Cursor, of: &str) -> Result<Vec<Attribute>, ReadError> {
    let count = cursor.list(ATTRIBUTES, 2 * cursor.format.count_width() + 4, of)?;
    let mut all = Vec::new();
    for number in 0..count {
        let name = cursor.name(&format!("attribute {number} of {of}"))?;
        let place = format!("attribute {name}");
        let kind = kind(cursor, &place)?;
        let values = cursor.count(&place)?;
        let Some(len) = values.checked_mul(kind.size()) else {
            return Err(cursor.error(&place, format!("claims {values} values")));
        };
        let bytes = cursor.take_padded(len, &place)?.to_vec();
        all.push(Attribute { name, values: Values::external(kind, bytes) });
    }
    Ok(all)
}

/// Returns the variables and the offsets of their first bytes. The file has `dimensions` dimensions.
fn variables(cursor: &mut Cursor, dimensions: usize) -> Result<(Vec<Variable>, Vec<u64>), ReadError> {
    let width = cursor.format.count_width();
    let count = cursor.list(VARIABLES, 3 * width + 12, "variables")?;
    let (mut all, mut begins) = (Vec::new(), Vec::new());
    for number in 0..count {
        let name = cursor.name(&format!("variable {number}"))?;
        let place = format!("variable {name}");
        let rank = cursor.count(&place)?;
        if rank > cursor.rest() / width as u64 {
            return Err(cursor.error(&place, format!("claims {rank} dimensions, more than the file has bytes for")));
        }
        let mut shape = Vec::new();
        for _ in 0..rank {
            let id = cursor.count(&place)?;
            if id >= dimensions as u64 {
                return Err(cursor.error(&place, format!("has dimension {id}; the file has {dimensions}")));
            }
            shape.push(DimensionId(id as usize));
        }
        let attributes = attributes(cursor, &place)?;
        let kind = kind(cursor, &place)?;
        // Its size in bytes, which follows from shape and type; 2^32 - 1 when 32 bits cannot hold it.
        cursor.take(width as u64, &place)?;
        begins.push(cursor.offset(&place)?);
        all.push(Variable { name, kind, dimensions: shape, attributes });
    }
    Ok((all, begins))
}

fn kind(cursor: &mut Cursor, place: &str) -> Result<Type, ReadError> {
    let code = cursor.word(place)?;
    let wrong = || cursor.error(place, format!("has the type {code}; allowed: 1 to {}", Type::ALL.len()));
    Type::from_code(code).ok_or_else(wrong)
}
