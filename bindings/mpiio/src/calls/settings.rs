//! Handles what the program sets on an open file: its view, its info and its error handler; and MPI_File_get_info.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

use tributary_abi::{MPI_Errhandler, MPI_Info_delete, handles};
use tributary_bindings::info::{self, entries};

use super::pointed::seek;
use crate::entry::Answer;
use crate::file::files::{self, OpenFile, SharedFile};
use crate::file::sieving::{self, InfoForMpi, Sieving};
use crate::file::{failures, hints, pending, report};
use crate::mpi::abi::types::size;
use crate::mpi::abi::word::{Word, from_word};
use crate::mpi::abi::{MPI_Datatype, MPI_Info, SUCCESS};
use crate::mpi::next::InterposedFunction;
use crate::view::pointer::Pointer;
use crate::view::{KnownView, View};

/// Key of ROMIO's hint that says whether a written byte is visible to all ranks when the call that writes it returns. ROMIO's
/// driver for NFS returns `false`; with this library's own handle ([`own_handle`](crate::file::own_handle)) it is `true`.
const VISIBILITY: &str = "romio_visibility_immediate";

/// A key that ROMIO always returns.
const OF_ROMIO: &str = "romio_ds_read";

/// Handles MPI_File_set_view: MPI sets the view, and this rank records it. The ranks agree in the next collective call
/// whether the engine supports the views of all ranks. Sends no message beyond MPI's own. If MPI fails, its view and its
/// file pointer are not known: MPI runs all calls until the program sets another view, from the pointer that the program
/// knows.
pub fn set_view(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, displacement, etype, filetype, representation, info] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    pending::settle(&shared);
    let own = shared.pointer().own();
    if let Some((position, _)) = own.filter(|(position, _)| *position != 0) {
        seek(handle, position);
    }
    shared.lock().view = View::Foreign { why: "MPI_File_set_view failed".to_string(), etype: 0 };
    *shared.pointer() = Pointer::default();
    let mut arguments = [handle, displacement, etype, filetype, representation, info];
    // SAFETY: the program's info, in a call that takes one.
    let for_mpi = unsafe { InfoForMpi::in_place(shared.sieving.as_ref(), &mut arguments, 5) };
    Answer::call(function, &arguments, move |code| {
        shared.sieving.iter().for_each(Sieving::forget_view);
        if code as c_int != SUCCESS {
            return Answer::Return(code);
        }
        ask(&shared, for_mpi);
        let mut file = shared.lock();
        // SAFETY: the program's info, in a call that takes one.
        unsafe { want(&mut file, MPI_Info::from_word(info), "MPI_File_set_view") };
        let (etype, filetype) = (MPI_Datatype::from_word(etype), MPI_Datatype::from_word(filetype));
        // SAFETY: MPI_File_set_view has accepted these arguments.
        let view = unsafe { KnownView::new(from_word(displacement), etype, filetype, representation as *const c_char) };
        // SAFETY: MPI is initialised.
        let foreign = |why| View::Foreign { why, etype: unsafe { size(etype) } };
        file.view = view.map_or_else(foreign, |view| View::Engine(Arc::new(view)));
        *shared.pointer() = file.pointer_at(0);
        Answer::Return(code)
    })
}

/// Handles MPI_File_set_info: new hints, which take effect in the next collective call. Local.
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
fn ask(shared: &SharedFile, for_mpi: Option<(InfoForMpi, String)>) {
    if let (Some(sieving), Some((_, asked))) = (&shared.sieving, for_mpi) {
        sieving.ask(&asked);
    }
}

/// Records the hints of `info`, which the program passed to MPI function `call` on this rank. The next collective
/// call applies the first rank's hints.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
unsafe fn want(file: &mut OpenFile, info: MPI_Info, call: &str) {
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

/// Handles MPI_File_get_info: returns MPI's hints, overridden by the engine's hints in force, and the program's hints that
/// neither library knows. Local.
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
    let entries = unsafe { entries(used) };
    let is_of_romio = entries.iter().any(|(key, _)| key == OF_ROMIO);
    match asked.or_else(|| is_of_romio.then(|| sieving::DEFAULT.to_string())) {
        // SAFETY: a valid info.
        Some(value) => unsafe { info::set(used, sieving::HINT, &value) },
        None if entries.iter().any(|(key, _)| key == sieving::HINT) => {
            // SAFETY: a valid info; a terminated text.
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
    // SAFETY: a valid info.
    let entries = unsafe { entries(used) };
    let is_denied = entries.iter().any(|(key, value)| key == VISIBILITY && value == "false");
    if is_denied && shared.own.as_ref().is_some_and(|own| own.is_visible_at_once()) {
        // SAFETY: a valid info.
        unsafe { info::set(used, VISIBILITY, "true") };
    }
    let known: BTreeSet<_> = entries.into_iter().map(|(key, _)| key).collect();
    for (key, value) in hints::kept(&file.asked, &known) {
        // SAFETY: a valid info.
        unsafe { info::set(used, &key, &value) };
    }
    if report::is_wanted() {
        // SAFETY: a valid info.
        hints::note_returned(unsafe { self::entries(used) }, &file.asked);
    }
}

/// Handles MPI_File_set_errhandler: MPI sets the handler, and this library records whether it is MPI_ERRORS_RETURN. Local.
pub fn set_errhandler(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [file, handler] = *arguments else { return Answer::Pass };
    Answer::call(function, arguments, move |code| {
        if code as c_int == SUCCESS {
            let returns = MPI_Errhandler::from_word(handler) == handles().errors_return;
            match files::find(file) {
                Some(shared) => shared.counts().failures.set_returning(returns),
                None if file == handles().file_null.0 => failures::set_default(returns),
                None => {}
            }
        }
        Answer::Return(code)
    })
}
