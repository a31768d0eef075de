//! MPI by itself: its own collectives, to compare with, and the two groups of an inter-communicator as the ranks of one
//! endpoint.

use std::ffi::{c_char, c_int};

use tributary::Error;
use tributary_abi::{self as ffi};

pub mod functions;
mod intercommunicator;
mod native;

pub use intercommunicator::merged_endpoint;
pub use native::Native;

/// Turns the return code of the function `call` into a result, with MPI's error text.
fn check(call: &str, code: c_int) -> Result<(), Error> {
    if code == ffi::SUCCESS { Ok(()) } else { Err(Error::fabric(format!("{call}: {}", error_text(code)))) }
}

fn error_text(code: c_int) -> String {
    // Longer than the error texts of all MPI libraries.
    let (mut text, mut length) = (vec![0u8; 8193], 0);
    // SAFETY: the buffer is longer than the longest text of this MPI.
    let outcome = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    match outcome {
        ffi::SUCCESS => String::from_utf8_lossy(&text[..length.max(0) as usize]).into_owned(),
        _ => format!("MPI error code {code}"),
    }
}
