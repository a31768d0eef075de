//! The sources of a file's hints: `MPI_Info` and the environment.

use std::collections::BTreeSet;

use tributary::hints::{DriverName, Environment, FileHints};
use tributary::{Error, Hints};

use crate::abi::{MPI_Info, info};

/// Adds an info's entries, which override earlier ones. MPI lets a library ignore hints, so a hint that is not allowed is
/// left out, and reported in one line on the file's first rank. `call` is the function that the info was passed to.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn over(asked: &mut FileHints, info: MPI_Info, call: &str, is_first: bool) {
    // SAFETY: the caller's promise.
    for (key, value) in unsafe { info::entries(info) } {
        if let Err(error) = asked.program(&key, &value, format!("MPI_Info of {call}"))
            && is_first
        {
            eprintln!("tributary: MPI_Info: {error}; the hint is ignored");
        }
    }
}

/// The hints of a file that the program opens as `name` with `info`.
///
/// # Errors
/// A hint in the environment, or in a file that it names, is not allowed.
///
/// # Safety
/// As [`over`].
pub unsafe fn at_open(name: &str, info: MPI_Info, is_first: bool) -> Result<FileHints, Error> {
    let mut asked = Environment::of_process()?.file_hints(name);
    // SAFETY: the caller's promise.
    unsafe { over(&mut asked, info, "MPI_File_open", is_first) };
    Ok(asked)
}

/// Entries for MPI_File_get_info that the program set and that are not among the `known` keys.
pub fn kept(asked: &FileHints, known: &BTreeSet<String>) -> Vec<(String, String)> {
    let programs = asked.programs().filter(|(key, _)| !known.contains(*key));
    programs.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Entries for MPI_File_get_info before the engine has opened the file: the hints that were set.
pub fn given(hints: &Hints) -> Vec<(&'static str, String)> {
    hints.table().into_iter().filter(|row| row.value != "auto").map(|row| (row.key, row.value)).collect()
}

/// Entries for MPI_File_get_info: the hints in force. Those left to the driver have the values that it found.
pub fn effective(file: &tributary::File) -> Vec<(&'static str, String)> {
    let (layout, driver) = (file.layout(), file.driver());
    let found = |key: &str| match key {
        "cb_nodes" => Some(file.aggregators().len().to_string()),
        // Only from Lustre or GPFS: libraries align their writes to this value, and the block size of other file systems is no
        // reason to.
        "striping_unit" if driver != DriverName::Posix => Some(layout.unit.to_string()),
        "striping_factor" if driver == DriverName::Lustre && layout.factor > 0 => Some(layout.factor.to_string()),
        "trib_driver" => Some(file.driver().to_string()),
        _ => None,
    };
    let entry = |row: tributary::hints::Row| (row.key, found(row.key).unwrap_or(row.value));
    file.hints().table().into_iter().map(entry).filter(|(_, value)| value != "auto").collect()
}
