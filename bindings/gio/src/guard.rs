//! Guards every function that can fail: turns an error into its code, and lets no panic into C.

use std::ffi::c_int;

use tributary::{Error, Result};
use tributary_bindings::guard::caught;

use crate::MPI_Offset;
use crate::code;

/// Runs the body of a function that returns a code.
pub fn status(function: &str, body: impl FnOnce() -> Result<()>) -> c_int {
    moved(function, || body().map(|()| 0)) as c_int
}

/// Runs the body of a function that returns a number of bytes, or a code.
pub fn moved(function: &str, body: impl FnOnce() -> Result<u64>) -> MPI_Offset {
    match caught(body) {
        Ok(bytes) => bytes as MPI_Offset,
        Err(error) => {
            let code = code::of(&error);
            // These codes say too little, so the message is printed. Callers expect the others, or report them themselves.
            let too_little = matches!(code, code::EINVAL | code::EFILE | code::EFILEVIEW | code::ENEGATIVECNT);
            if too_little || matches!(error, Error::CallsDiffer { .. }) {
                tributary::say(format_args!("{function}: {error}"));
            }
            MPI_Offset::from(code)
        }
    }
}
