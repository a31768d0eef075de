//! Collects a file's hints from their sources, `MPI_Info` and the environment, and answers MPI_File_get_info.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use tributary::drivers::{Layout, Mode, OpenStorage, SystemFiles, driver_on};
use tributary::hints::{DriverName, Environment, FileHints, HintRow};
use tributary::{Error, File, Hints};
use tributary_bindings::guard::lock;
use tributary_bindings::hints::{give, in_force};
use tributary_bindings::info::entries;

use crate::mpi::abi::MPI_Info;

/// Adds `entries` of an info that the program passed to MPI function `call`. They override earlier hints. A hint that
/// is not allowed is left out, and the file's first rank prints a line about it.
pub fn over(asked: &mut FileHints, entries: &[(String, String)], call: &str, is_first: bool) {
    entries.iter().for_each(|(key, value)| give(asked, (key, value), call, is_first));
}

/// Pairs of key and value.
type Pairs = BTreeSet<(String, String)>;

/// Different results of MPI_File_get_info for the program's files, each without the hints that the program had set.
static RETURNED: Mutex<BTreeSet<Pairs>> = Mutex::new(BTreeSet::new());
/// Maximum number of results in [`RETURNED`].
const ANSWERS: usize = 64;

/// Records an answer of MPI_File_get_info for a file with these hints: libraries, such as PnetCDF, open other files with it.
pub fn note_returned(entries: impl IntoIterator<Item = (String, String)>, asked: &FileHints) {
    let set: BTreeSet<(&str, &str)> = asked.programs().collect();
    // ROMIO's values end with blanks, which hints do not.
    let entries = entries.into_iter().map(|(key, value)| (key, value.trim().to_string()));
    let others: Pairs = entries.filter(|(key, value)| !set.contains(&(key.as_str(), value.as_str()))).collect();
    let mut returned = lock(&RETURNED);
    if returned.len() < ANSWERS && !others.is_empty() {
        returned.insert(others);
    }
}

/// Returns the pairs that the program has taken over from MPI_File_get_info: its hints include a whole result for another file.
pub fn passed_on(asked: &FileHints) -> Pairs {
    let given: Pairs = asked.programs().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    lock(&RETURNED).iter().filter(|answer| answer.is_subset(&given)).flatten().cloned().collect()
}

/// Returns the hints of a file that the program opens as `name` with `info`.
///
/// # Errors
/// A hint in the environment, or in a file that the environment names, is not allowed.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn at_open(name: &str, info: MPI_Info, is_first: bool) -> Result<FileHints, Error> {
    let mut asked = Environment::of_process()?.file_hints(name);
    // SAFETY: the caller's promise.
    over(&mut asked, &unsafe { entries(info) }, "MPI_File_open", is_first);
    Ok(asked)
}

/// Returns the reason why the site's settings leave the file `name` to MPI; None if they do not. The answer of the
/// file's first rank counts. Local.
pub fn left_by_site(name: &str) -> Option<String> {
    Environment::of_process().ok()?.site().leaves(name, program())
}

/// Returns true if the site's settings that this rank reads leave all files of the program to MPI. Local.
pub fn is_program_left_by_site() -> bool {
    Environment::of_process().is_ok_and(|environment| environment.site().leaves_program(program()).is_some())
}

/// Returns the path of the program.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| std::env::current_exe().unwrap_or_default())
}

/// Returns entries for MPI_File_get_info that the program has set and whose keys are not among the `known` keys.
pub fn kept(asked: &FileHints, known: &BTreeSet<String>) -> Vec<(String, String)> {
    let programs = asked.programs().filter(|(key, _)| !known.contains(*key));
    programs.map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Returns entries for MPI_File_get_info while only MPI has opened the file at `path`: the hints that were set. Hints
/// about stripes have the values of the file itself, because the program may lay out its data by them.
pub fn given(hints: &Hints, path: &Path) -> Vec<(&'static str, String)> {
    if *hints == Hints::default() {
        return Vec::new();
    }
    let is_hinted = hints.striping_unit.is_some() || hints.striping_factor.is_some();
    let layout = is_hinted.then(|| layout(hints, path)).flatten();
    let value = |row: HintRow| match (row.key, layout) {
        ("striping_unit", Some(Layout { unit, .. })) => unit.to_string(),
        ("striping_factor", Some(Layout { factor, .. })) if factor > 0 => factor.to_string(),
        _ => row.value,
    };
    let set = hints.table().into_iter().filter(|row| row.value != "auto");
    set.map(|row| (row.key, value(row))).collect()
}

/// Returns the stripes of a file on a striped file system; None on other file systems. Local: opens the file.
fn layout(hints: &Hints, path: &Path) -> Option<Layout> {
    let files = &SystemFiles;
    let name = hints.driver.resolved(files, path);
    let file = name.is_striped().then(|| files.open(path, Mode::Read).ok()).flatten()?;
    driver_on(files, name, path).layout(files, path, &*file, &hints.for_driver()).ok()
}

/// Returns entries for MPI_File_get_info after the engine has opened the file: the hints in force. Hints that are
/// left to the storage driver have the values that the driver found.
pub fn effective(file: &File) -> Vec<(&'static str, String)> {
    let tells_stripes = |key: &str| match key {
        // Only from Lustre or GPFS: libraries align their writes to this value, and the block size of other file systems is no
        // reason to.
        "striping_unit" => ![DriverName::Posix, DriverName::Nfs].contains(&file.settings().driver),
        _ => file.settings().driver.is_striped(),
    };
    in_force(file, tells_stripes).into_iter().filter(|(_, value)| value != "auto").collect()
}
