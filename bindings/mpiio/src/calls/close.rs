//! MPI_File_close: the engine's file, then MPI's; then the report.

use std::ffi::c_int;

use crate::abi::word::{Word, to_word};
use crate::abi::{SUCCESS, file_null};
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::report::Report;

/// Takes the call. Collective over the file's ranks.
pub fn close(function: &'static Function, arguments: &[Word]) -> Answer {
    // SAFETY: the argument of MPI_File_close is a place that holds a handle, which is a pointer in every MPI library.
    let handle = arguments.first().filter(|&&place| place != 0).map(|&place| unsafe { *(place as *const Word) });
    let Some((file, tally)) = handle.and_then(files::remove) else {
        return Answer::Return(function.call(arguments));
    };
    let speaks = file.is_first;
    let report = Report::wanted(&file, &tally);
    let closed = file.close();
    let code = function.call(arguments);
    if let Some(report) = report {
        report.print();
    }
    match closed {
        Err(error) if code as c_int == SUCCESS => Answer::Raise { file: to_word(file_null()), error, speaks },
        _ => Answer::Return(code),
    }
}
