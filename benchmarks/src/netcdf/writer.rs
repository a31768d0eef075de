//! Writes CDF-5 maps: a header that is declared first, then the variables' integers in the order of their declaration.
//! Not through `tributary_netcdf`, because a map's empty decompositions have dimensions of length 0, which NetCDF takes
//! for the unlimited one and allows once only.

use std::io::Write;

use super::{ALIGN, CHAR, INT, TAG_ATTRIBUTES, TAG_DIMENSIONS, TAG_VARIABLES};

/// The format's numbers are signed.
const LARGEST: u64 = i64::MAX as u64;

/// A header in the making. The bytes that [`Writer::header`] returns are followed by the data of each variable in turn,
/// every one as [`put_ints`] writes it.
#[derive(Default)]
pub struct Writer {
    dimensions: Vec<(String, u64)>,
    attributes: Vec<u8>,
    attribute_count: u64,
    variables: Vec<(String, usize)>,
}

impl Writer {
    /// Declares a dimension; returns its number.
    pub fn dimension(&mut self, name: &str, length: u64) -> usize {
        self.dimensions.push((name.to_string(), length));
        self.dimensions.len() - 1
    }

    /// Adds a global attribute of integers.
    pub fn attribute_ints(&mut self, name: &str, values: &[i32]) {
        self.attribute(name, INT, values.len());
        values.iter().for_each(|value| self.attributes.extend(value.to_be_bytes()));
    }

    /// Adds a global attribute of text.
    pub fn attribute_text(&mut self, name: &str, text: &str) {
        self.attribute(name, CHAR, text.len());
        put_padded(&mut self.attributes, text.as_bytes());
    }

    fn attribute(&mut self, name: &str, kind: u32, count: usize) {
        put_name(&mut self.attributes, name);
        self.attributes.extend(kind.to_be_bytes());
        self.attributes.extend((count as u64).to_be_bytes());
        self.attribute_count += 1;
    }

    /// Declares a variable of 32-bit integers over one dimension.
    pub fn variable(&mut self, name: &str, dimension: usize) {
        self.variables.push((name.to_string(), dimension));
    }

    /// The header's bytes. Sizes that no file can have saturate.
    pub fn header(&self) -> Vec<u8> {
        let mut out = b"CDF\x05".to_vec();
        out.extend(0u64.to_be_bytes());
        put_list(&mut out, TAG_DIMENSIONS, self.dimensions.len() as u64);
        for (name, length) in &self.dimensions {
            put_name(&mut out, name);
            out.extend(length.to_be_bytes());
        }
        put_list(&mut out, TAG_ATTRIBUTES, self.attribute_count);
        out.extend(&self.attributes);
        put_list(&mut out, TAG_VARIABLES, self.variables.len() as u64);
        // What the variables' part will take: name, one dimension, no attributes, type, size, begin.
        let part = |name: &str| 8 + (name.len() as u64).next_multiple_of(ALIGN) + 8 + 8 + 12 + 4 + 8 + 8;
        let mut begin = out.len() as u64 + self.variables.iter().map(|(name, _)| part(name)).sum::<u64>();
        for (name, dimension) in &self.variables {
            let bytes = self.dimensions[*dimension].1.saturating_mul(4).min(LARGEST);
            put_name(&mut out, name);
            out.extend(1u64.to_be_bytes());
            out.extend((*dimension as u64).to_be_bytes());
            put_list(&mut out, TAG_ATTRIBUTES, 0);
            out.extend(INT.to_be_bytes());
            out.extend(bytes.to_be_bytes());
            out.extend(begin.to_be_bytes());
            begin = begin.saturating_add(bytes).min(LARGEST);
        }
        out
    }
}

/// Writes values of a variable.
///
/// # Errors
/// What `out` says.
pub fn put_ints(out: &mut dyn Write, values: impl IntoIterator<Item = i32>) -> std::io::Result<()> {
    values.into_iter().try_for_each(|value| out.write_all(&value.to_be_bytes()))
}

/// A list's tag and count; an empty list has tag 0.
fn put_list(out: &mut Vec<u8>, tag: u32, count: u64) {
    out.extend(if count == 0 { 0 } else { tag }.to_be_bytes());
    out.extend(count.to_be_bytes());
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.extend((name.len() as u64).to_be_bytes());
    put_padded(out, name.as_bytes());
}

fn put_padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(ALIGN as usize) - bytes.len(), 0);
}
