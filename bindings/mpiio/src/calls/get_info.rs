//! MPI_File_get_info: returns MPI's hints, overridden by the engine's hints in force, and the program's hints that
//! neither library knows.

use std::collections::BTreeSet;
use std::ffi::c_int;

use tributary_abi::MPI_Info_delete;
use tributary_bindings::info;

use crate::abi::word::Word;
use crate::abi::{MPI_Info, SUCCESS};
use crate::entry::Answer;
use crate::files::{self, SharedFile};
use crate::hints;
use crate::next::InterposedFunction;
use crate::sieving;

/// Key of ROMIO's answer whether a written byte is visible to all ranks when the call that writes it returns. Its driver for
/// NFS says `false`, and this library's own handle sees to it ([`own_handle`](crate::own_handle)).
const VISIBILITY: &str = "romio_visibility_immediate";

/// A key that ROMIO always returns.
const OF_ROMIO: &str = "romio_ds_read";

/// Handles MPI_File_get_info. Local.
pub fn get_info(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, place] = *arguments else { return Answer::Pass };
    Answer::call(function, arguments, move |code| {
        if code as c_int == SUCCESS
            && let Some(shared) = files::find(handle)
        {
            // SAFETY: MPI_File_get_info succeeded and wrote a new info, which the program frees.
            complete(function, &shared, unsafe { MPI_Info::at(place as *const _) });
        }
        Answer::Return(code)
    })
}

/// Replaces the hint for data sieving that MPI got from this library by the program's value; without one, by ROMIO's
/// default. OMPIO has no such hint.
///
/// # Safety
/// A valid info.
unsafe fn show_sieving(used: MPI_Info, asked: Option<String>) {
    // SAFETY: the caller's promise.
    let entries = unsafe { info::entries(used) };
    let is_of_romio = entries.iter().any(|(key, _)| key == OF_ROMIO);
    match asked.or_else(|| is_of_romio.then(|| sieving::DEFAULT.to_string())) {
        // SAFETY: likewise.
        Some(value) => unsafe { info::set(used, sieving::HINT, &value) },
        None if entries.iter().any(|(key, _)| key == sieving::HINT) => {
            // SAFETY: likewise; a terminated text.
            unsafe { MPI_Info_delete(used, c"romio_ds_write".as_ptr()) };
        }
        None => {}
    }
}

/// Adds hints of the engine and of the program to the info `used` that MPI returned.
fn complete(function: &'static InterposedFunction, shared: &SharedFile, used: MPI_Info) {
    if let Some(sieving) = &shared.sieving {
        // SAFETY: a valid info.
        unsafe { show_sieving(used, sieving.asked()) };
    }
    let file = &mut *shared.lock();
    file.backend.start_if_single_rank(function, false);
    for (key, value) in file.backend.effective_hints().iter() {
        // SAFETY: a valid info.
        unsafe { info::set(used, key, value) };
    }
    // SAFETY: likewise.
    let entries = unsafe { info::entries(used) };
    let is_denied = entries.iter().any(|(key, value)| key == VISIBILITY && value == "false");
    if is_denied && file.own.as_ref().is_some_and(|own| own.is_visible_at_once()) {
        // SAFETY: likewise.
        unsafe { info::set(used, VISIBILITY, "true") };
    }
    let known: BTreeSet<_> = entries.into_iter().map(|(key, _)| key).collect();
    for (key, value) in hints::kept(&file.asked, &known) {
        // SAFETY: likewise.
        unsafe { info::set(used, &key, &value) };
    }
}
