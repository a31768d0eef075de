//! What the library does about MPI_File_delete: it waits for bytes left behind, and counts calls that found no file, for
//! the report.
//!
//! Programs let every rank delete the same file, although one deletes it and all others ask the file system in vain. The
//! library passes all these calls to MPI: MPI_File_delete is local, and no rank can know without a message whether another
//! rank deletes the file, or whether the file was created again since.

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

/// Waits until the bytes are written that this process has left behind in the file of this path, before MPI deletes it: an open
/// file may stay until it is closed. Local.
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
    /// Returns the calls of all ranks by the sums of what [`take`] returned; None unless several ranks made such calls. A
    /// single rank that deletes a file without knowing whether it exists does nothing wrong.
    pub fn from_sums([calls, ranks]: [u64; 2]) -> Option<Self> {
        (ranks > 1).then_some(Self { calls, ranks })
    }
}
