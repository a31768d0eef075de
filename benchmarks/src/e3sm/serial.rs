//! Writes the whole file in one process, directly from its definition: by record, variable, decomposition rank and recorded
//! entry. It does not use extents, merging or folding, so it is an independent reference.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::PatternError;
use crate::value::element_bytes;

use super::decomposition::Decompositions;
use super::layout::{HistoryLayout, LayoutVariable, VariableOwner};

/// Writes the whole file, after setting its length to 0. Holds one variable of one record in memory.
pub(super) fn write(all: &dyn Decompositions, layout: &HistoryLayout, file: &File) -> Result<(), PatternError> {
    let failed = |e: std::io::Error| PatternError::io(Path::new("serial file"), "write", &e);
    file.set_len(0).map_err(failed)?;
    let mut bytes = Vec::new();
    for variable in &layout.variables {
        let records = if variable.is_record { layout.content.records as u64 } else { 1 };
        for record in 0..records {
            bytes.clear();
            match variable.owner {
                VariableOwner::Root => put(&mut bytes, variable, record, 0, variable.elements),
                VariableOwner::Decomposed(which) => {
                    for rank in 0..all.ranks() {
                        all.visit(which, rank, &mut |entry| {
                            put(&mut bytes, variable, record, entry.offset, entry.length);
                        });
                    }
                }
            }
            file.write_all_at(&bytes, variable.begin + record * layout.record_size).map_err(failed)?;
        }
    }
    Ok(())
}

/// Writes elements of a record into the bytes of their variable, which grow as needed. Elements without an owner stay
/// zero.
fn put(bytes: &mut Vec<u8>, variable: &LayoutVariable, record: u64, offset: u64, length: u64) {
    let size = variable.size as usize;
    for element in offset..offset + length {
        let at = element as usize * size;
        if at + size > bytes.len() {
            bytes.resize(at + size, 0);
        }
        let value = element_bytes(variable.kind, variable.number, record * variable.elements + element);
        bytes[at..at + size].copy_from_slice(&value[..size]);
    }
}
