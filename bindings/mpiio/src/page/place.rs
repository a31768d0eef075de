//! Where a page goes: a new file in the directory of `TRIB_REPORT_DIR`, or in the current directory of the file's first rank.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tributary::engine::capture::new_file;

const DIRECTORY: &str = "TRIB_REPORT_DIR";
/// How the name of a page ends.
const EXTENSION: &str = "tributary.html";

/// Stores the page of `file` under a name that no file has, and returns the name. Local.
///
/// # Errors
/// The directory or the file cannot be made or written; the message names it.
pub fn store(file: &Path, page: &str) -> Result<PathBuf, String> {
    let directory = std::env::var_os(DIRECTORY).filter(|it| !it.is_empty()).map_or(PathBuf::from("."), PathBuf::from);
    into(&directory, file, page).map_err(|cause| format!("{}: {cause}", directory.display()))
}

fn into(directory: &Path, file: &Path, page: &str) -> io::Result<PathBuf> {
    let (path, mut made) = new_file(directory, file, EXTENSION)?;
    let stored = made.write_all(page.as_bytes());
    if stored.is_err() {
        // Half a page is of no use; that it could not be written is what the caller says.
        let _ = std::fs::remove_file(&path);
    }
    stored.map(|()| path)
}
