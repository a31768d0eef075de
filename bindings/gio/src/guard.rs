//! The guard around every function that can fail: it turns an error into its code, and lets no panic into C.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary::engine::alone;
use tributary::{Error, Result};

use crate::MPI_Offset;
use crate::code;

/// Runs the body of a function that returns a code.
pub fn status(function: &str, body: impl FnOnce() -> Result<()>) -> c_int {
    moved(function, || body().map(|()| 0)) as c_int
}

/// Runs the body of a function that returns a number of bytes, or a code.
pub fn moved(function: &str, body: impl FnOnce() -> Result<u64>) -> MPI_Offset {
    // Unwind safety: after a panic in an operation, the file can only be closed.
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        alone(Err(Error::Internal { rank: 0, what: format!("panic: {}", said.unwrap_or("no message")) }))
    });
    match outcome {
        Ok(bytes) => bytes as MPI_Offset,
        Err(error) => {
            let code = code::of(&error);
            // These codes say too little, so the message is printed. Callers expect the others, or report them themselves.
            if matches!(code, code::EINVAL | code::EFILE | code::EFILEVIEW | code::ENEGATIVECNT) {
                eprintln!("tributary: {function}: {error}");
            }
            MPI_Offset::from(code)
        }
    }
}
