//! Where a file's hints come from: `MPI_Info`, over the environment, over a hints file, over the defaults.

use tributary::hints::DriverName;
use tributary::{Error, Hints};

use crate::abi::{MPI_Info, info};

/// Puts an info's entries over `hints`. MPI lets a library ignore a hint, so one that is not allowed is left out, and told
/// in one line on the file's first rank.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn over(mut hints: Hints, info: MPI_Info, is_first: bool) -> Hints {
    // SAFETY: the caller's promise.
    for (key, value) in unsafe { info::entries(info) } {
        if let Err(error) = hints.set(&key, &value)
            && is_first
        {
            eprintln!("tributary: MPI_Info: {error}; the hint is ignored");
        }
    }
    hints
}

/// The hints of a file that is opened with `info`.
///
/// # Errors
/// What the environment or the hints file has that is not allowed: these name this library, and mean it.
///
/// # Safety
/// As [`over`].
pub unsafe fn at_open(info: MPI_Info, is_first: bool) -> Result<Hints, Error> {
    // SAFETY: the caller's promise.
    Ok(unsafe { over(Hints::from_env()?, info, is_first) })
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
