//! Implements [`NetcdfCase`] for [`E3sm`]: the benchmark's calls of PnetCDF, variable by variable.

use smallvec::{SmallVec, smallvec};
use tributary_netcdf::{Alignment, Requests, Schema, VariableId};

use crate::error::PatternError;
use crate::netcdf_case::{NetcdfCase, Put};

use super::case::E3sm;
use super::decomposition::Entry;
use super::layout::{LayoutVariable, VariableOwner};
use super::pattern::put;

impl NetcdfCase for E3sm {
    fn schema(&self) -> &Schema {
        self.layout.schema()
    }

    fn alignment(&self) -> Alignment {
        Alignment::PACKED
    }

    /// Returns the puts of a rank. Leaves out variables of which the rank has no elements.
    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError> {
        let lists = self.lists(rank, step)?;
        let mut puts = Vec::new();
        for (variable, _) in self.layout.of_step(step) {
            let (requests, bytes) = match variable.owner {
                VariableOwner::Root if rank == 0 => (whole(variable, step), data(variable, step, [all_of(variable)])),
                VariableOwner::Root => continue,
                VariableOwner::Decomposed(which) => {
                    let mut requests = Requests::default();
                    lists.entries(which).for_each(|entry| push(&mut requests, variable, step, entry));
                    (requests, data(variable, step, lists.entries(which)))
                }
            };
            if !requests.is_empty() {
                puts.push(Put { variable: VariableId(variable.number), requests, data: bytes });
            }
        }
        Ok(puts)
    }
}

fn all_of(variable: &LayoutVariable) -> Entry {
    Entry { offset: 0, length: variable.elements }
}

/// Returns the request for the whole variable, or for its part of one record.
fn whole(variable: &LayoutVariable, step: usize) -> Requests {
    let record = variable.is_record.then_some((step as u64, 1)).into_iter();
    let parts = record.chain(variable.shape.iter().map(|&length| (0, length)));
    let (start, count): (Vec<u64>, Vec<u64>) = parts.unzip();
    let mut requests = Requests::default();
    requests.push(&start, &count);
    requests
}

/// An index along each dimension. Needs no allocation, because there are millions.
type Index = SmallVec<[u64; 4]>;

/// Adds the request for an entry, which lies inside a row: one element along every dimension but the last.
fn push(requests: &mut Requests, variable: &LayoutVariable, step: usize, entry: Entry) {
    let dimensions = variable.shape.len() + usize::from(variable.is_record);
    let (mut start, mut count): (Index, Index) = (smallvec![0; dimensions], smallvec![1; dimensions]);
    let mut rest = entry.offset;
    for (place, length) in (0..dimensions).rev().zip(variable.shape.iter().rev()) {
        start[place] = rest % length;
        rest /= length;
    }
    if variable.is_record {
        start[0] = step as u64;
    }
    if let Some(last) = count.last_mut() {
        *last = entry.length;
    }
    requests.push(&start, &count);
}

/// Returns the values of entries, one after the other.
fn data(variable: &LayoutVariable, step: usize, entries: impl IntoIterator<Item = Entry>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        let from = bytes.len();
        bytes.resize(from + (entry.length * variable.size) as usize, 0);
        put(&mut bytes[from..], variable, step, entry.offset..entry.offset + entry.length);
    }
    bytes
}
