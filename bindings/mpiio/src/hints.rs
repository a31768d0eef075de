//! The sources of a file's hints: `MPI_Info` and the environment.

use std::collections::BTreeSet;

use tributary::hints::{DriverName, Environment, FileHints};
use tributary::{Error, File, Hints};
use tributary_bindings::hints::{give, in_force};
use tributary_bindings::info::entries;

use crate::abi::MPI_Info;

/// Adds the entries of an info that was passed to `call`; they override earlier ones. One that is not allowed is left
/// out, and the file's first rank says so in one line.
pub fn over(asked: &mut FileHints, entries: &[(String, String)], call: &str, is_first: bool) {
    entries.iter().for_each(|(key, value)| give(asked, (key, value), call, is_first));
}

/// The hints of a file that the program opens as `name` with `info`.
///
/// # Errors
/// A hint in the environment, or in a file that it names, is not allowed.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn at_open(name: &str, info: MPI_Info, is_first: bool) -> Result<FileHints, Error> {
    let mut asked = Environment::of_process()?.file_hints(name);
    // SAFETY: the caller's promise.
    over(&mut asked, &unsafe { entries(info) }, "MPI_File_open", is_first);
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
pub fn effective(file: &File) -> Vec<(&'static str, String)> {
    let tells_stripes = |key: &str| match key {
        // Only from Lustre or GPFS: libraries align their writes to this value, and the block size of other file systems is no
        // reason to.
        "striping_unit" => file.driver() != DriverName::Posix,
        _ => file.driver() == DriverName::Lustre,
    };
    in_force(file, tells_stripes).into_iter().filter(|(_, value)| value != "auto").collect()
}
