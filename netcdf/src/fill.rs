//! Writes fill values, which unwritten elements hold. Each rank writes its share of every variable.

use tributary::access::{BufferLayout, Extents};
use tributary::{Error, Result};

use crate::layout::Layout;
use crate::schema::{Schema, VariableId};

/// Size of a variable's block of fill values in memory, in bytes. The block is written repeatedly.
const TILE: u64 = 64 << 10;

/// An access that writes fill values, in ascending order.
#[derive(Default)]
pub(crate) struct Filled {
    file: Extents,
    memory: Extents,
    buffer: Vec<u8>,
}

impl Filled {
    /// Returns the file extents, the layout of the buffer, and the buffer.
    pub fn into_access(self) -> (Extents, BufferLayout, Vec<u8>) {
        (self.file, BufferLayout::Extents(self.memory), self.buffer)
    }

    /// Adds this rank's share of `len` bytes of fill values from offset `begin` on. O(1) memory besides the block of
    /// fill values.
    fn add(&mut self, value: &[u8], begin: u64, len: u64, (part, parts): (u64, u64)) -> Result<()> {
        let size = value.len() as u64;
        let elements = len.div_ceil(size);
        let cut = |part: u64| (u128::from(elements) * u128::from(part) / u128::from(parts)) as u64 * size;
        let (from, to) = (cut(part), cut(part + 1).min(len));
        self.file.push(&Extents::contiguous(begin + from, to - from)?)?;
        let at = self.buffer.len() as u64;
        let tile = (to - from).min(TILE);
        self.buffer.extend(value.iter().cycle().take(tile as usize));
        if tile > 0 {
            self.memory.push(&Extents::contiguous(at, tile)?.repeat(0, (to - from) / tile)?)?;
            self.memory.push(&Extents::contiguous(at, (to - from) % tile)?)?;
        }
        Ok(())
    }
}

/// Returns this rank's share of the fill values of all fixed-size variables and of the padding behind them.
///
/// # Errors
/// The extents reach beyond 2^63 - 1.
pub(crate) fn fixed(schema: &Schema, layout: &Layout, share: (u64, u64)) -> Result<Filled> {
    let mut filled = Filled::default();
    for (number, variable) in schema.variables().iter().enumerate() {
        let id = VariableId(number);
        if !layout.is_record(id) {
            filled.add(&variable.fill_value(), layout.begin(id), layout.variable_bytes(id), share)?;
        }
    }
    Ok(filled)
}

/// Returns this rank's share of the fill values of one record of a variable, and of its padding if records are
/// padded.
///
/// # Errors
/// The variable does not exist or has no records, or the record is beyond the format.
pub(crate) fn record(
    schema: &Schema,
    layout: &Layout,
    variable: VariableId,
    record: u64,
    share: (u64, u64),
) -> Result<Filled> {
    let begin = layout.begin_of(variable, record)?;
    let target = &schema.variables()[variable.0];
    if !layout.is_record(variable) {
        let what = format!("variable {} to fill a record of", target.name);
        return Err(Error::argument(what, "has no records", "a record variable"));
    }
    layout.records(record.saturating_add(1))?;
    let mut filled = Filled::default();
    let len = layout.variable_bytes(variable).min(layout.record_size());
    filled.add(&target.fill_value(), begin, len, share)?;
    Ok(filled)
}

/// Returns a hash of bytes that is the same on every machine (64-bit FNV-1a).
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
