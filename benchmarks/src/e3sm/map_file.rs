//! Writes decompositions as a map file (CDF-5), which the E3SM-IO benchmark and [`super::DecompositionMap`] read.

use std::io::Write;

use tributary_netcdf::{Alignment, Format, Schema, Type};

use crate::error::PatternError;

use super::decomposition::{Decompositions, Entry};

/// Numbers of one decomposition that the header contains.
struct DecompositionHeader {
    nreqs: Vec<i32>,
    elements: u64,
}

/// Writes the map to `out`, streaming: O(ranks) memory. `out` should be buffered.
///
/// # Errors
/// A number does not fit the format's 32 bits, or writing to `out` fails.
pub fn write_map(all: &dyn Decompositions, out: &mut dyn Write) -> Result<(), PatternError> {
    let facts = (0..all.dims().len()).map(|which| count(all, which)).collect::<Result<Vec<_>, _>>()?;
    let failed = |e: std::io::Error| PatternError::io(std::path::Path::new("map file"), "write", &e);
    out.write_all(&header(all, &facts)?).map_err(failed)?;
    for (which, facts) in facts.iter().enumerate() {
        put_ints(out, facts.nreqs.iter().copied()).map_err(failed)?;
        for part in [|entry: Entry| entry.offset, |entry: Entry| entry.length] {
            let mut result = Ok(());
            for rank in 0..all.ranks() {
                all.visit(which, rank, &mut |entry| {
                    if result.is_ok() {
                        result = put_ints(out, [part(entry) as i32]);
                    }
                });
            }
            result.map_err(failed)?;
        }
    }
    out.flush().map_err(failed)
}

/// Returns the bytes of the map file.
///
/// # Errors
/// A number does not fit the format's 32 bits.
pub fn to_map(all: &dyn Decompositions) -> Result<Vec<u8>, PatternError> {
    let mut bytes = Vec::new();
    write_map(all, &mut bytes)?;
    Ok(bytes)
}

/// Counts entries and elements; checks that every number fits the format.
fn count(all: &dyn Decompositions, which: usize) -> Result<DecompositionHeader, PatternError> {
    let limit = i32::MAX as u64;
    let (mut nreqs, mut elements) = (Vec::new(), 0u64);
    let mut largest = all.dims()[which].iter().copied().max().unwrap_or(0);
    for rank in 0..all.ranks() {
        let mut entries = 0u64;
        all.visit(which, rank, &mut |entry| {
            entries += 1;
            elements += entry.length;
            largest = largest.max(entry.offset).max(entry.length);
        });
        largest = largest.max(entries);
        nreqs.push(entries as i32);
    }
    if largest > limit {
        let what = format!("decomposition D{} of {}", which + 1, all.name());
        return Err(PatternError::argument(what, largest, "numbers up to 2^31 - 1, which is what a map file holds"));
    }
    Ok(DecompositionHeader { nreqs, elements })
}

/// Writes values of a variable, as big-endian 32-bit integers.
fn put_ints(out: &mut dyn Write, values: impl IntoIterator<Item = i32>) -> std::io::Result<()> {
    values.into_iter().try_for_each(|value| out.write_all(&value.to_be_bytes()))
}

/// Returns the header's bytes. The variables follow in the order of their definition, without gaps.
fn header(all: &dyn Decompositions, facts: &[DecompositionHeader]) -> Result<Vec<u8>, PatternError> {
    // A decomposition without entries has a dimension of length 0.
    let mut schema = Schema::without_records(Format::Cdf5);
    schema.define_dimension("num_decomp", facts.len() as u64)?;
    let ranks = schema.define_dimension("decomp_nprocs", all.ranks() as u64)?;
    for (which, (facts, dims)) in facts.iter().zip(all.dims()).enumerate() {
        let name = |part: &str| format!("D{}.{part}", which + 1);
        let total = facts.nreqs.iter().map(|&n| n as u64).sum();
        let entries = schema.define_dimension(&name("total_nreqs"), total)?;
        let lengths: Vec<i32> = dims.iter().map(|&length| length as i32).collect();
        let covered = dims.iter().try_fold(1u64, |p, &d| p.checked_mul(d)) == Some(facts.elements);
        schema.put_global_attribute(&name("ndims"), dims.len() as i32)?;
        schema.put_global_attribute(&name("dims"), &lengths[..])?;
        schema.put_global_attribute(&name("max_nreqs"), facts.nreqs.iter().copied().max().unwrap_or(0))?;
        schema.put_global_attribute(&name("min_nreqs"), facts.nreqs.iter().copied().min().unwrap_or(0))?;
        schema.put_global_attribute(&name("fully_covered"), if covered { "true" } else { "false" })?;
        for (part, dimension) in [("nreqs", ranks), ("offsets", entries), ("lengths", entries)] {
            schema.define_variable(&name(part), Type::Int, &[dimension])?;
        }
    }
    Ok(schema.layout(Alignment::PACKED)?.header(0)?)
}
