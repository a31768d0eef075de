//! Where a file's hints come from: `MPI_Info`, and what the environment has above and below it.

use std::collections::BTreeSet;

use tributary::hints::{DriverName, Environment, FileHints};
use tributary::{Error, Hints};

use crate::abi::{MPI_Info, info};

/// Takes an info's entries over what was asked before. MPI lets a library ignore a hint, so one that is not allowed is left
/// out, and told in one line on the file's first rank. `call` is the function that the info was given to.
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

/// What is asked of a file that the program calls `name` and opens with `info`.
///
/// # Errors
/// What the environment, or a file that it names, has that is not allowed.
///
/// # Safety
/// As [`over`].
pub unsafe fn at_open(name: &str, info: MPI_Info, is_first: bool) -> Result<FileHints, Error> {
    let mut asked = Environment::of_process()?.file_hints(name);
    // SAFETY: the caller's promise.
    unsafe { over(&mut asked, info, "MPI_File_open", is_first) };
    Ok(asked)
}

/// Entries for MPI_File_get_info that the program asked for and nobody else knows: `known` are the keys that are there.
pub fn kept(asked: &FileHints, known: &BTreeSet<String>) -> Vec<(String, String)> {
    let programs = asked.programs().filter(|(key, _)| !known.contains(*key));
    programs.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Entries for MPI_File_get_info before the engine has opened the file: what was asked for.
pub fn given(hints: &Hints) -> Vec<(&'static str, String)> {
    hints.table().into_iter().filter(|row| row.value != "auto").map(|row| (row.key, row.value)).collect()
}

/// Entries for MPI_File_get_info: the hints in force, and for those that are left to the driver, what it found.
pub fn effective(file: &tributary::File) -> Vec<(&'static str, String)> {
    let (layout, driver) = (file.layout(), file.driver());
    let found = |key: &str| match key {
        "cb_nodes" => Some(file.aggregators().len().to_string()),
        // Libraries align what they write to it: a block of just any file system is nothing to align to.
        "striping_unit" if driver != DriverName::Posix => Some(layout.unit.to_string()),
        "striping_factor" if driver == DriverName::Lustre && layout.factor > 0 => Some(layout.factor.to_string()),
        "trib_driver" => Some(file.driver().to_string()),
        _ => None,
    };
    let entry = |row: tributary::hints::Row| (row.key, found(row.key).unwrap_or(row.value));
    file.hints().table().into_iter().map(entry).filter(|(_, value)| value != "auto").collect()
}
