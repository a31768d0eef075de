//! MPI_File_get_info: returns MPI's hints, overridden by the engine's hints in force, and the program's hints that
//! neither library knows.

use std::collections::BTreeSet;
use std::ffi::c_int;

use tributary_bindings::info;

use crate::abi::word::Word;
use crate::abi::{MPI_Info, SUCCESS};
use crate::entry::Answer;
use crate::files;
use crate::hints;
use crate::next::InterposedFunction;
use crate::open_file::OpenFile;

/// Handles MPI_File_get_info. Local.
pub fn get_info(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, place] = *arguments else { return Answer::Pass };
    Answer::call(function, arguments, move |code| {
        if code as c_int == SUCCESS
            && let Some(shared) = files::find(handle)
        {
            // SAFETY: MPI_File_get_info succeeded and wrote a new info, which the program frees.
            complete(&mut shared.lock(), unsafe { MPI_Info::at(place as *const _) });
        }
        Answer::Return(code)
    })
}

/// Adds hints of the engine and of the program to the info `used` that MPI returned.
fn complete(file: &mut OpenFile, used: MPI_Info) {
    for (key, value) in file.backend.effective_hints().iter() {
        // SAFETY: a valid info.
        unsafe { info::set(used, key, value) };
    }
    // SAFETY: likewise.
    let known: BTreeSet<_> = unsafe { info::entries(used) }.into_iter().map(|(key, _)| key).collect();
    for (key, value) in hints::kept(&file.asked, &known) {
        // SAFETY: likewise.
        unsafe { info::set(used, &key, &value) };
    }
}
