//! MPI_File_set_info: other hints for an open file, in force from the next collective call on.

use std::ffi::c_int;
use std::pin::pin;

use tributary::Error;
use tributary::collectives::broadcast;
use tributary::fabric::mpi::alone;

use crate::abi::word::Word;
use crate::abi::{MPI_Info, SUCCESS};
use crate::entry::Answer;
use crate::files;
use crate::hints;
use crate::next::Function;
use crate::open_file::{OpenFile, Runner};

/// Takes the call. Nothing is sent.
pub fn set_info(function: &'static Function, arguments: &[Word]) -> Answer {
    let code = function.call(arguments);
    if let [handle, info] = *arguments
        && code as c_int == SUCCESS
        && let Some(shared) = files::find(handle)
    {
        // SAFETY: the program's info, in a call that takes one.
        unsafe { want(&mut shared.hold(), MPI_Info::of(info), "MPI_File_set_info") };
    }
    Answer::Return(code)
}

/// Takes down what an info asks for, in a call of `call`. The first rank's counts.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn want(file: &mut OpenFile, info: MPI_Info, call: &str) {
    // SAFETY: the caller's promise.
    if unsafe { crate::abi::info::is_empty(info) } {
        return;
    }
    let is_first = file.is_first;
    // SAFETY: the caller's promise.
    unsafe { hints::over(&mut file.asked, info, call, is_first) };
    file.want();
}

/// Puts the first rank's wish into force on all ranks. Collective.
///
/// # Errors
/// The fabric's, or what the file system reports when the engine closes the file to open it anew; then MPI runs the calls.
pub fn apply(file: &mut OpenFile) -> Result<(), Error> {
    let wanted = file.wanted.take();
    let Runner::Engine { file: engine, .. } = &mut file.runner else { return Ok(()) };
    let endpoint = engine.endpoint();
    let waiting = endpoint.waiting().clone();
    let told = serde_json::to_vec(&wanted).unwrap_or_default();
    let told = waiting.complete(pin!(broadcast(endpoint, 0, &told)))?;
    match serde_json::from_slice(&told) {
        Ok(Some(hints)) => file.reopen(hints),
        Ok(None) => Ok(()),
        Err(_) => alone(Err(Error::Internal { rank: 0, what: "the first rank's hints were not told".to_string() })),
    }
}
