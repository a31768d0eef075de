//! A pattern that is a NetCDF file: its definitions, the puts of every rank in every step, and its writing with
//! [`tributary_netcdf::Dataset`].

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

/// One rank's part of one variable in one step, as the code hands it to its I/O library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// The variable.
    pub variable: VariableId,
    /// Its parts: (start, count) along each dimension, the unlimited one included.
    pub requests: Requests,
    /// The elements of the parts, one part after the other, as they lie in the file: big-endian, of the variable's type.
    pub data: Vec<u8>,
}

/// A pattern's NetCDF file. Pure, as [`Pattern`] is: the same on every rank and in every run.
pub trait NetcdfCase: Pattern {
    /// Returns the file's definitions.
    fn schema(&self) -> &Schema;

    /// Returns the alignment hints that the code sets.
    fn alignment(&self) -> Alignment;

    /// Returns the puts of `rank` in call `step`. O(its requests) time and memory.
    ///
    /// # Errors
    /// A rank or step out of range.
    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError>;
}

/// The result of writing a case; the same on all ranks.
#[derive(Debug, Clone)]
pub struct Written {
    /// The collective write of each step; the first has the header with it.
    pub calls: Vec<CallReport>,
    /// Senders per aggregator and round.
    pub fan_in: FanIn,
    /// Nodes, as found or pretended.
    pub nodes: usize,
    /// The driver.
    pub driver: DriverName,
}

/// Writes all steps of a case as a NetCDF file, with one flush per step. Returns the endpoint. Collective; the same error on
/// all ranks or none. An error of the case in its first step leaves no file.
///
/// # Errors
/// The errors of the engine, or the error of the case on the lowest failing rank.
pub fn write_case(
    mut endpoint: Endpoint,
    case: &dyn NetcdfCase,
    path: &Path,
    hints: &Hints,
) -> Result<(Written, Endpoint), Error> {
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
    let written = Written { calls, fan_in: below.fan_in()?, nodes: below.topology().nodes(), driver: below.driver() };
    Ok((written, file.close()?))
}

/// Writes the file in one process, byte for byte as [`write_case`]: the pattern's serial reference, with the header over it.
///
/// # Errors
/// The errors of the operating system, or a layout beyond the format.
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
