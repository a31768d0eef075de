//! Handling of MPI_File_delete: waits for buffered bytes, and counts calls that found no file, for the report.
//!
//! Programs let every rank delete the same file, although one deletes it and all others ask the file system in vain. The
//! library passes all these calls to MPI: MPI_File_delete is local, and no rank can know without a message whether another
//! rank deletes the file, or whether the file was created anew since.

use std::ffi::c_int;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use tributary::engine::{may_have_buffered_bytes, wait_for_writes};

use crate::mpi::abi::errors::is_no_such_file;

/// Number of calls of this process that found no file, since the last [`take`]: since the last file of several ranks was
/// closed with a report.
static IN_VAIN: AtomicU64 = AtomicU64::new(0);

/// Calls of MPI_File_delete that found no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeletionsInVain {
    /// Number of calls of all ranks.
    pub calls: u64,
    /// Number of ranks that made such a call.
    pub ranks: u64,
}

/// Waits until this process's buffered bytes of the file at this path are written, before MPI deletes its name: an open file
/// stays until it is closed. Local.
pub fn begin(path: &Path) {
    if may_have_buffered_bytes() {
        // A file that cannot be opened any more has no bytes to wait for.
        let _ = wait_for_writes(path, 0..u64::MAX);
    }
}

/// Counts a call of MPI_File_delete with the return code `code`, if there was no file. Local.
pub fn note(code: c_int) {
    if is_no_such_file(code) {
        IN_VAIN.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the calls of this process since the last call of this function, as numbers that ranks add up for
/// [`DeletionsInVain::from_sums`]. Local.
pub fn take() -> [u64; 2] {
    let calls = IN_VAIN.swap(0, Ordering::Relaxed);
    [calls, u64::from(calls > 0)]
}

impl DeletionsInVain {
    /// Returns the calls of all ranks, given the sums of the numbers that [`take`] returned. Returns None unless several
    /// ranks made such calls: one rank may delete a file that perhaps does not exist.
    pub fn from_sums([calls, ranks]: [u64; 2]) -> Option<Self> {
        (ranks > 1).then_some(Self { calls, ranks })
    }
}
