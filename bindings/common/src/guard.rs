//! Guards functions that C calls: no panic leaves them, or spoils the state of later calls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tributary::engine::binding::abort_job_on_error;
use tributary::{Error, Result};

/// Runs the body of a function. A panic becomes an internal error that the other ranks cannot know of: it ends the
/// job, or with `trib_on_failure=return` is returned.
///
/// # Errors
/// The errors of the body.
pub fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    // Unwind safety: after a panic in an operation, the file can only be closed.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        abort_job_on_error(Err(Error::internal(0, format!("panic: {}", message.unwrap_or("no message")))))
    })
}

/// Locks a mutex. A panic of an earlier holder does not poison it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let outcome: Result<()> = caught(|| panic!("three of {}", 4));
        assert!(outcome.unwrap_err().to_string().contains("panic: three of 4"));
        let outcome: Result<()> = caught(|| std::panic::panic_any(3));
        assert!(outcome.unwrap_err().to_string().contains("panic: no message"));
        assert_eq!(caught(|| Ok(5)).unwrap(), 5);
    }
}
