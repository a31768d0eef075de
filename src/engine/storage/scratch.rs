//! Memory in which a thread packs pieces for one call of the system, or takes them apart after one.

use std::cell::RefCell;

/// Bytes that are packed for one call: what a core's cache holds.
pub const CACHED: usize = 512 << 10;
/// A piece of so many bytes is written, or read, where it is.
pub const WHOLE: u64 = 64 << 10;

thread_local! {
    /// Kept, so that no call makes its own.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with this thread's memory, which grows as it asks. What is in it is of no meaning. Not to be nested.
pub fn with<T>(work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    SCRATCH.with_borrow_mut(work)
}
