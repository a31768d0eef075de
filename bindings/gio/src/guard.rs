//! What surrounds every function that can fail: an error becomes its code, and no panic crosses into C.

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

/// Runs the body of a function that returns how many bytes it moved, or a code.
pub fn moved(function: &str, body: impl FnOnce() -> Result<u64>) -> MPI_Offset {
    // What a panic leaves behind is not looked at: an operation that did not end leaves its file fit for closing only.
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
        alone(Err(Error::Internal { rank: 0, what: format!("panic: {}", said.unwrap_or("without words")) }))
    });
    match outcome {
        Ok(bytes) => bytes as MPI_Offset,
        Err(error) => {
            let code = code::of(&error);
            // These say too little by themselves; the others are what a caller asks for, or says itself.
            if matches!(code, code::EINVAL | code::EFILE | code::EFILEVIEW | code::ENEGATIVECNT) {
                eprintln!("tributary: {function}: {error}");
            }
            MPI_Offset::from(code)
        }
    }
}
