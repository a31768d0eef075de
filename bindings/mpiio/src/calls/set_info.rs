//! Handles MPI_File_set_info: new hints for an open file, which take effect in the next collective call.

use std::ffi::c_int;

use tributary_bindings::info::entries;

use crate::abi::word::Word;
use crate::abi::{MPI_Info, SUCCESS};
use crate::entry::Answer;
use crate::files::{self, SharedFile};
use crate::hints;
use crate::next::InterposedFunction;
use crate::open_file::OpenFile;
use crate::pending;
use crate::sieving::InfoForMpi;

/// Handles MPI_File_set_info. Local.
pub fn set_info(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, info] = *arguments else { return Answer::Pass };
    let shared = files::find(handle);
    let mut arguments = [handle, info];
    // SAFETY: the program's info, in a call that takes one.
    let for_mpi =
        unsafe { InfoForMpi::in_place(shared.as_ref().and_then(|shared| shared.sieving.as_ref()), &mut arguments, 1) };
    Answer::call(function, &arguments, move |code| {
        if code as c_int == SUCCESS
            && let Some(shared) = shared
        {
            pending::settle(&shared);
            ask(&shared, for_mpi);
            // SAFETY: the program's info, in a call that takes one.
            unsafe { want(&mut shared.lock(), MPI_Info::from_word(info), "MPI_File_set_info") };
        }
        Answer::Return(code)
    })
}

/// Records the program's value of the hint for data sieving, if MPI got an info without it.
pub fn ask(shared: &SharedFile, for_mpi: Option<(InfoForMpi, String)>) {
    if let (Some(sieving), Some((_, asked))) = (&shared.sieving, for_mpi) {
        sieving.ask(&asked);
    }
}

/// Records the hints of `info`, which the program passed to MPI function `call` on this rank. The next collective
/// call applies the first rank's hints.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn want(file: &mut OpenFile, info: MPI_Info, call: &str) {
    // SAFETY: the caller's promise.
    let entries = unsafe { entries(info) };
    want_entries(file, &entries, call);
}

/// Does what [`want`] does, for the entries of an info.
pub fn want_entries(file: &mut OpenFile, entries: &[(String, String)], call: &str) {
    if !entries.is_empty() {
        hints::over(&mut file.asked, entries, call, file.backend.is_first);
        file.backend.want(file.asked.hints());
    }
}
