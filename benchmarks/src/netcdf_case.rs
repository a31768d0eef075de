//! Defines patterns that are NetCDF files: the definitions, the puts of every rank in every step, and a writer that
//! uses [`tributary_netcdf::Dataset`].

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::pin;

use tributary::collectives::agree;
use tributary::engine::FanIn;
use tributary::hints::DriverName;
use tributary::{CallReport, Endpoint, Error, Hints};
use tributary_netcdf::{Alignment, Dataset, Requests, Schema, VariableId};

use crate::error::PatternError;
use crate::pattern::Pattern;

/// One rank's data of one variable in one step, as a program passes them to its I/O library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// Number of the variable.
    pub variable: VariableId,
    /// Parts of the variable: (start, count) along each dimension, the unlimited one included.
    pub requests: Requests,
    /// Elements of the parts, one part after the other, as they lie in the file: big-endian, of the variable's type.
    pub data: Vec<u8>,
}

/// A pattern that is a NetCDF file. All functions are pure, as in [`Pattern`]: they return the same on every rank and
/// in every run.
pub trait NetcdfCase: Pattern {
    /// Returns the file's definitions.
    fn schema(&self) -> &Schema;

    /// Returns the alignment hints that the real program sets.
    fn alignment(&self) -> Alignment;

    /// Returns the puts of `rank` in call `step`. O(the rank's requests) time and memory.
    ///
    /// # Errors
    /// The rank or step is out of range.
    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError>;
}

/// The result of writing a case; the same on all ranks.
#[derive(Debug, Clone)]
pub struct WrittenCase {
    /// Report of the collective write of each step; the first includes the header.
    pub calls: Vec<CallReport>,
    /// Number of senders of an aggregator in a round.
    pub fan_in: FanIn,
    /// Number of nodes: real ones, or those of the hint `trib_ranks_per_node`.
    pub nodes: usize,
    /// Name of the file-system driver.
    pub driver: DriverName,
}

/// Writes all steps of a case as a NetCDF file, with one flush per step. Returns the endpoint. Collective; all ranks
/// get the same error, or none. An error of the case in its first step leaves no file.
///
/// # Errors
/// The errors of the engine, or the error of the case on the lowest failing rank.
pub fn write_case(
    mut endpoint: Endpoint,
    case: &dyn NetcdfCase,
    path: &Path,
    hints: &Hints,
) -> Result<(WrittenCase, Endpoint), Error> {
    let rank = endpoint.rank();
    let puts = |step| {
        let failed = |error| {
            Error::argument(format!("rank {rank}, call {step}"), error, "a pattern that every rank can generate")
        };
        case.puts(rank, step).map_err(failed)
    };
    let waiting = endpoint.waiting().clone();
    let first = case.schema().layout(case.alignment()).and_then(|_| puts(0));
    let mut first = Some(waiting.wait(pin!(agree(&mut endpoint, first)))?);
    let mut file = Dataset::create_with(endpoint, path, case.schema().clone(), hints.clone())?;
    file.set_alignment(case.alignment())?;
    file.end_define()?;
    let mut calls = Vec::with_capacity(case.steps());
    for step in 0..case.steps() {
        let mut queue = |puts: Vec<Put>| {
            puts.iter().try_for_each(|put| file.iput_varn_external(put.variable, put.requests.iter(), &put.data))
        };
        let queued = first.take().map_or_else(|| puts(step), Ok).and_then(&mut queue);
        file.agree(queued)?;
        calls.push(file.wait_all()?);
    }
    let below = file.file();
    let written = WrittenCase {
        calls,
        fan_in: below.fan_in()?,
        nodes: below.settings().topology.nodes(),
        driver: below.settings().driver,
    };
    Ok((written, file.close()?))
}

/// Writes the file in one process, byte for byte as [`write_case`] does: the pattern's serial reference, with the
/// header over it.
///
/// # Errors
/// The operating system's error, or the layout is beyond the format.
pub fn write_case_serially(case: &dyn NetcdfCase, file: &File) -> Result<(), PatternError> {
    let failed = |e: std::io::Error| PatternError::io(Path::new("serial file"), "write", &e);
    case.write_serially(file)?;
    let layout = case.schema().layout(case.alignment())?;
    let end = case.totals().file_size;
    let records = match layout.record_size() {
        0 => 0,
        size => end.saturating_sub(layout.begin_of_records()).div_ceil(size),
    };
    file.write_all_at(&layout.header(records)?, 0).map_err(failed)?;
    let whole = layout.file_bytes(records).unwrap_or(end);
    if file.metadata().map_err(failed)?.len() < whole {
        file.set_len(whole).map_err(failed)?;
    }
    Ok(())
}
