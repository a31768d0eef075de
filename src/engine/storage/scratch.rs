//! A thread's memory for pieces that are written or read in one system call.

use std::cell::RefCell;

/// Most bytes that are packed for one call: they fit in a core's cache.
pub const CACHED: usize = 512 << 10;
/// A piece of so many bytes or more is written from, or read into, the caller's memory.
pub const WHOLE: u64 = 64 << 10;

thread_local! {
    /// Kept between calls, so that they allocate nothing.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's memory, whose contents are undefined. Calls must not be nested.
pub fn with<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}
