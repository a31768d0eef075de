//! Computes the layout of a file as PnetCDF does: the header, the fixed-size variables in the order of their
//! definition, then the records, each with its part of every record variable.

use tributary::{Error, Extents, Result};

use crate::alignment::Alignment;
use crate::format::Format;
use crate::header::{self, ALIGN, VariablePlace};
use crate::schema::{Schema, Variable, VariableId};

/// Sizes and position of a variable, for the layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    /// Size of an element, in bytes.
    pub(crate) size: u64,
    /// Lengths of the variable's dimensions; for a record variable without the unlimited dimension.
    pub(crate) shape: Vec<u64>,
    pub(crate) record: bool,
    /// Number of bytes without padding (of one record, for a record variable).
    pub(crate) bytes: u64,
    begin: u64,
}

/// The positions of all variables in a file, and the header with these positions. Offsets and lengths are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub(crate) format: Format,
    header: Vec<u8>,
    slots: Vec<Slot>,
    end_of_fixed: u64,
    begin_of_records: u64,
    pub(crate) record_size: u64,
}

impl Layout {
    pub(crate) fn new(schema: &Schema, alignment: Alignment) -> Result<Self> {
        let mut slots = schema.variables().iter().map(|v| slot(schema, v)).collect::<Result<Vec<_>>>()?;
        check_sizes(schema.format(), &slots)?;
        let header_bytes = header::encode(schema, &vec![VariablePlace::default(); slots.len()]).len() as u64;
        let any_fixed = slots.iter().any(|slot| !slot.record);
        let mut at = alignment.begin_of_data(header_bytes, any_fixed)?;
        for slot in slots.iter_mut().filter(|slot| !slot.record) {
            at = place(schema.format(), slot, at)?;
        }
        let end_of_fixed = at;
        let begin_of_records = alignment.begin_of_records(end_of_fixed, any_fixed)?;
        at = begin_of_records;
        for slot in slots.iter_mut().filter(|slot| slot.record) {
            at = place(schema.format(), slot, at)?;
        }
        let mut records = slots.iter().filter(|slot| slot.record);
        // The records of a single record variable are not padded.
        let record_size = match (records.next(), records.next()) {
            (Some(lone), None) => lone.bytes,
            _ => at - begin_of_records,
        };
        let place = |slot: &Slot| VariablePlace { bytes: slot.bytes.next_multiple_of(ALIGN), begin: slot.begin };
        let header = header::encode(schema, &slots.iter().map(place).collect::<Vec<_>>());
        Ok(Self { format: schema.format(), header, slots, end_of_fixed, begin_of_records, record_size })
    }

    /// Returns the number of bytes of the header, without the gap that alignment leaves behind it.
    pub fn header_bytes(&self) -> u64 {
        self.header.len() as u64
    }

    /// Returns the header of a file with this many records.
    ///
    /// # Errors
    /// `records` is more than the format can count.
    pub fn header(&self, records: u64) -> Result<Vec<u8>> {
        let (at, count) = self.records(records)?;
        let mut header = self.header.clone();
        header[at as usize..][..count.len()].copy_from_slice(&count);
        Ok(header)
    }

    /// Returns the offset of the number of records in the header, and the bytes of this number.
    ///
    /// # Errors
    /// `records` is more than the format can count.
    pub fn records(&self, records: u64) -> Result<(u64, Vec<u8>)> {
        let limit = self.format.largest_count();
        if records > limit {
            return Err(Error::argument("records", records, format!("up to {limit} in {}", self.format)));
        }
        Ok(header::records(self.format, records))
    }

    /// Returns the offset of the first byte of a variable (of its record 0, for a record variable).
    ///
    /// # Panics
    /// Panics if the variable belongs to another schema and this one has no variable of its number.
    pub fn begin(&self, variable: VariableId) -> u64 {
        self.slots[variable.0].begin
    }

    /// Returns the number of bytes of a variable (of one record, for a record variable), rounded up to 4.
    ///
    /// # Panics
    /// Panics as [`Layout::begin`] does.
    pub fn variable_bytes(&self, variable: VariableId) -> u64 {
        self.slots[variable.0].bytes.next_multiple_of(ALIGN)
    }

    /// Returns true if a variable has records.
    ///
    /// # Panics
    /// Panics as [`Layout::begin`] does.
    pub fn is_record(&self, variable: VariableId) -> bool {
        self.slots[variable.0].record
    }

    /// Returns the number of bytes from the start of a record to the start of the next: the sum of the record
    /// variables' parts, without padding if there is only one record variable.
    pub fn record_size(&self) -> u64 {
        self.record_size
    }

    /// Returns the offset of the first byte behind the last fixed-size variable and its padding.
    pub fn end_of_fixed(&self) -> u64 {
        self.end_of_fixed
    }

    /// Returns the offset of the first byte of record 0.
    pub fn begin_of_records(&self) -> u64 {
        self.begin_of_records
    }

    /// Returns the number of bytes of a whole file with this many records; `None` beyond 2^63 - 1.
    pub fn file_bytes(&self, records: u64) -> Option<u64> {
        let end = match self.record_size {
            0 => Some(self.end_of_fixed),
            size => records.checked_mul(size)?.checked_add(self.begin_of_records),
        };
        end.filter(|&end| end <= i64::MAX as u64)
    }

    /// Returns the offset of the first byte of one record of a variable.
    pub(crate) fn begin_of(&self, variable: VariableId, record: u64) -> Result<u64> {
        self.begin_of_record(self.slot(variable)?, record)
    }

    /// Returns the minimum number of records of a file that contains these extents of a variable.
    pub(crate) fn records_of(&self, variable: VariableId, extents: &Extents) -> u64 {
        match (self.slots.get(variable.0), extents.span()) {
            (Some(slot), Some((_, end))) if slot.record => (end - 1 - slot.begin) / self.record_size + 1,
            _ => 0,
        }
    }

    pub(crate) fn slot(&self, variable: VariableId) -> Result<&Slot> {
        let known = self.slots.len();
        let wrong = || Error::argument("variable", variable.0, format!("{known} defined variables"));
        self.slots.get(variable.0).ok_or_else(wrong)
    }

    pub(crate) fn begin_of_record(&self, slot: &Slot, record: u64) -> Result<u64> {
        let begin = record.checked_mul(self.record_size).and_then(|far| far.checked_add(slot.begin));
        let inside = begin.filter(|begin| begin.checked_add(slot.bytes).is_some_and(|end| end <= i64::MAX as u64));
        inside.ok_or_else(|| too_far(slot))
    }
}

fn slot(schema: &Schema, variable: &Variable) -> Result<Slot> {
    let mut shape = schema.shape(variable);
    let record = schema.is_record(variable);
    if record {
        shape.remove(0);
    }
    let size = variable.kind.size();
    // An empty dimension counts as 1, so that the distance of elements along every dimension is in range too.
    let bytes = shape.iter().try_fold(size, |bytes, &length| bytes.checked_mul(length.max(1)));
    let limit = i64::MAX as u64 - (ALIGN - 1);
    let Some(bytes) = bytes.filter(|&bytes| bytes <= limit) else {
        let given = format!("{shape:?} elements of {size} bytes");
        return Err(Error::argument(format!("size of variable {}", variable.name), given, "up to 2^63 - 4 bytes"));
    };
    let bytes = if shape.contains(&0) { 0 } else { bytes };
    Ok(Slot { name: variable.name.clone(), size, shape, record, bytes, begin: 0 })
}

/// Checks sizes of variables. CDF-1 and CDF-2 allow a large variable only at the end: the last fixed-size variable if
/// there are no records, or the last record variable.
fn check_sizes(format: Format, slots: &[Slot]) -> Result<()> {
    let limit = format.largest_variable();
    let any_record = slots.iter().any(|slot| slot.record);
    for record in [false, true] {
        let mut all = slots.iter().filter(|slot| slot.record == record).peekable();
        while let Some(slot) = all.next() {
            let may_be_large = all.peek().is_none() && (record || !any_record);
            if slot.bytes > limit && !may_be_large {
                let allowed = match record {
                    false => {
                        format!("up to {limit} in {format}, except for the last variable of a file without records")
                    }
                    true => format!("up to {limit} per record in {format}, except for the last record variable"),
                };
                return Err(Error::argument(format!("bytes of variable {}", slot.name), slot.bytes, allowed));
            }
        }
    }
    Ok(())
}

/// Places a variable at offset `at`; returns the offset for the next variable.
fn place(format: Format, slot: &mut Slot, at: u64) -> Result<u64> {
    let last = format.last_begin();
    if at > last {
        return Err(Error::argument(
            format!("begin of variable {}", slot.name),
            at,
            format!("up to {last} in {format}"),
        ));
    }
    slot.begin = at;
    let end = at.checked_add(slot.bytes.next_multiple_of(ALIGN)).filter(|&end| end <= i64::MAX as u64);
    end.ok_or_else(|| too_far(slot))
}

pub(crate) fn too_far(slot: &Slot) -> Error {
    Error::argument(format!("end of variable {}", slot.name), "beyond 2^63 - 1", "a file of up to 2^63 - 1 bytes")
}
