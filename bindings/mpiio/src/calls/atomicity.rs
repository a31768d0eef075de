//! MPI_File_set_atomicity: in atomic mode the MPI library runs every call.

use std::ffi::c_int;

use crate::abi::SUCCESS;
use crate::abi::word::Word;
use crate::abi::word::from_word;
use crate::entry::Answer;
use crate::files;
use crate::next::InterposedFunction;
use crate::pending;

/// Handles MPI_File_set_atomicity: passes the call to MPI, and records the mode if MPI succeeds.
pub fn set_atomicity(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, flag] = *arguments else { return Answer::Pass };
    Answer::call(function, arguments, move |code| {
        if code as c_int == SUCCESS
            && let Some(file) = files::find(handle)
        {
            pending::settle(&file);
            file.wait_for_writes(|| None);
            // SAFETY: the argument is an int.
            let is_atomic = unsafe { from_word::<c_int>(flag) } != 0;
            file.lock().is_atomic = is_atomic;
            if let Some(own) = &file.own {
                own.set_atomic(is_atomic);
            }
        }
        Answer::Return(code)
    })
}
