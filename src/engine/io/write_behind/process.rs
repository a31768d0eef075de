//! The files of this process whose collective writes buffer bytes. The end of the process needs them, and calls that know
//! only a path.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

use crate::engine::io::write_behind::WriteBehind;
use crate::world::process::{own_state, per_process};

own_state! {
    /// All instances of this process.
    static ALL: Mutex<Vec<Weak<WriteBehind>>> = Mutex::new(Vec::new());
}

per_process! {
    /// True once the process has made a [`WriteBehind`].
    static IS_USED: AtomicBool = AtomicBool::new(false);
    /// Process that has made the first [`WriteBehind`]: a child of fork(2) has none of its own, and must not wait for a
    /// lock that another thread of its parent held.
    static PROCESS: AtomicU32 = AtomicU32::new(0);
}

/// Adds an instance of this process.
pub fn add(write_behind: &Arc<WriteBehind>) {
    per_process! {
        static AT_EXIT: Once = Once::new();
    }
    AT_EXIT.call_once(|| {
        // SAFETY: the function has this signature, and touches only values that live as long as the process.
        // If it cannot be registered, only files that the program does not close may be incomplete.
        unsafe { libc::atexit(at_exit) };
    });
    ALL.with(|all| {
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(write_behind));
    });
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    IS_USED.store(true, Ordering::Relaxed);
}

fn all() -> Vec<Arc<WriteBehind>> {
    if !may_have_buffered_bytes() || PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return Vec::new();
    }
    ALL.with(|all| all.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect())
}

/// Returns true if files of this process may have buffered bytes. Costs a load. Local.
pub fn may_have_buffered_bytes() -> bool {
    IS_USED.load(Ordering::Relaxed)
}

/// Waits before an access of `range` in the file at `path` that this library does not run. After the wait, the access finds
/// the bytes that this rank and others have written in collective calls, and the end that these calls gave the file. Does
/// nothing if no bytes were buffered. Local.
///
/// # Errors
/// The file cannot be opened, asked or locked, so that it is unknown if the bytes are there.
pub fn wait_for_writes(path: &Path, range: Range<u64>) -> io::Result<()> {
    all()
        .iter()
        .filter(|write_behind| write_behind.path == path)
        .try_for_each(|write_behind| write_behind.wait_for_access(&range))
}

/// Writes all buffered bytes of this process's files, and prints errors that no call has returned: at the end of the
/// program. Local.
pub fn write_everything() {
    all().iter().for_each(|write_behind| write_behind.finish());
}

extern "C" fn at_exit() {
    write_everything();
}
