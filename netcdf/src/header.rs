//! Encodes the header: lists of dimensions, attributes and variables, every name and value padded to 4 bytes.
//! [`crate::reader`] decodes it.

use crate::format::Format;
use crate::schema::{Attribute, Schema};

/// The first bytes of a file; the format's version follows.
pub(crate) const MAGIC: &[u8] = b"CDF";
/// Tag that opens the list of dimensions in a header; the next constants open the other lists.
pub(crate) const DIMENSIONS: u32 = 0x0a;
pub(crate) const VARIABLES: u32 = 0x0b;
pub(crate) const ATTRIBUTES: u32 = 0x0c;
/// Number of bytes: names, values and variables are padded to multiples of it.
pub(crate) const ALIGN: u64 = 4;

/// The position of a variable, as in the header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VariablePlace {
    /// Number of bytes (of one record, for a record variable), rounded up to 4. If 32 bits cannot hold the number,
    /// CDF-1 and CDF-2 state 2^32 - 1.
    pub bytes: u64,
    /// Offset of the first byte in the file.
    pub begin: u64,
}

/// Returns the header of a file without records. Its length does not depend on `places`.
pub(crate) fn encode(schema: &Schema, places: &[VariablePlace]) -> Vec<u8> {
    let format = schema.format();
    let mut out = Out { format, bytes: [MAGIC, &[format.version()]].concat() };
    out.count(0);
    out.list(DIMENSIONS, schema.dimensions().len());
    for dimension in schema.dimensions() {
        out.name(&dimension.name);
        out.count(dimension.length);
    }
    out.attributes(schema.attributes());
    out.list(VARIABLES, schema.variables().len());
    for (variable, place) in schema.variables().iter().zip(places) {
        out.name(&variable.name);
        out.count(variable.dimensions.len() as u64);
        variable.dimensions.iter().for_each(|id| out.count(id.0 as u64));
        out.attributes(&variable.attributes);
        out.word(variable.kind.code());
        let limit = if format == Format::Cdf5 { u64::MAX } else { u64::from(u32::MAX) - 3 };
        out.count(if place.bytes > limit { u64::from(u32::MAX) } else { place.bytes });
        out.number(place.begin, format.offset_width());
    }
    out.bytes
}

/// Returns the offset of the number of records in every header, and the bytes of that number.
pub(crate) fn records(format: Format, records: u64) -> (u64, Vec<u8>) {
    let mut out = Out { format, bytes: Vec::new() };
    out.count(records);
    (4, out.bytes)
}

struct Out {
    format: Format,
    bytes: Vec<u8>,
}

impl Out {
    fn word(&mut self, value: u32) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Appends the low `width` bytes of a number.
    fn number(&mut self, value: u64, width: usize) {
        self.bytes.extend(&value.to_be_bytes()[8 - width..]);
    }

    fn count(&mut self, value: u64) {
        self.number(value, self.format.count_width());
    }

    /// Appends a list's tag and length; an empty list has tag 0.
    fn list(&mut self, tag: u32, len: usize) {
        self.word(if len == 0 { 0 } else { tag });
        self.count(len as u64);
    }

    fn name(&mut self, name: &str) {
        self.count(name.len() as u64);
        self.padded(name.as_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN as usize), 0);
    }

    fn attributes(&mut self, all: &[Attribute]) {
        self.list(ATTRIBUTES, all.len());
        for Attribute { name, values } in all {
            self.name(name);
            self.word(values.kind().code());
            self.count(values.count());
            self.padded(values.bytes());
        }
    }
}
