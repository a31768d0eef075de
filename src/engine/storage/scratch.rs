//! Memory of a thread for pieces that are written or read in one system call.

use crate::world::process::per_thread;
use std::cell::RefCell;

per_thread! {
    /// Kept between calls, so that a call allocates nothing.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's memory, whose contents are undefined.
pub fn with<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut scratch = SCRATCH.take();
    let done = work(&mut scratch);
    SCRATCH.set(scratch);
    done
}
