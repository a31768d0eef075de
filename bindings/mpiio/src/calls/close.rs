//! MPI_File_close: closes the engine's file, then MPI's, with the same result on all ranks; then prints the report.

use std::ffi::c_int;

use crate::abi::errors::class;
use crate::abi::word::Word;
use crate::entry::{Answer, outside, raise};
use crate::files;
use crate::job;
use crate::next::Function;
use crate::pending;
use crate::report::{Report, describe_hints};

/// Handles the call. Collective over the file's ranks.
pub fn close(function: &'static Function, arguments: &[Word]) -> Answer {
    // SAFETY: the argument of MPI_File_close points to a handle, which is a pointer in every MPI library.
    let handle = arguments.first().filter(|&&place| place != 0).map(|&place| unsafe { *(place as *const Word) });
    // Calls whose requests the program has freed may still be in flight: complete them.
    if let Some(shared) = handle.and_then(files::find) {
        pending::settle(&shared);
    }
    let Some((mut file, counts)) = handle.and_then(files::remove) else {
        return Answer::Return(function.call(arguments));
    };
    let (speaks, path) = (file.backend.is_first, file.backend.path.clone());
    describe_hints(&mut file, &counts);
    let report = Report::wanted(&file, &counts);
    job::add(speaks, &counts);
    let closed = file.backend.close(function);
    if let (Err(error), Some(handle)) = (&closed, handle) {
        // MPI's file is still open: call its error handler.
        if speaks {
            tributary::say(format_args!("MPI_File_close: {error}"));
        }
        outside(|| raise(handle, error));
    }
    let code = function.call(arguments) as c_int;
    if let Some(report) = report {
        report.print();
    }
    match closed.and_then(|closed| closed.agree(code, &path)) {
        Ok(()) => Answer::code(code),
        Err(error) => Answer::code(class(&error)),
    }
}
