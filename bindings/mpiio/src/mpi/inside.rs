//! Records which threads are inside this library: the MPI calls of these threads go straight to MPI.

use std::cell::Cell;

thread_local! {
    /// True while this thread is inside a handler.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Guard that sets INSIDE. Dropping the guard, also by an exception, resets INSIDE.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// Returns true if this thread is inside this library.
pub fn is_inside() -> bool {
    INSIDE.get()
}

/// Runs `call`. MPI functions that `call` uses are not interposed.
pub fn inside<T>(call: impl FnOnce() -> T) -> T {
    INSIDE.set(true);
    let _inside = Inside;
    call()
}

/// Marks this thread as a thread of this library.
pub fn claim_thread() {
    INSIDE.set(true);
}
