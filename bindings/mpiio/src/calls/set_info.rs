//! MPI_File_set_info: other hints for an open file.

use std::pin::pin;

use tributary::Hints;
use tributary::collectives::broadcast;

use crate::abi::MPI_Info;
use crate::abi::word::{Word, from_word};
use crate::entry::Answer;
use crate::files;
use crate::hints;
use crate::next::Function;
use crate::open_file::{OpenFile, Runner};

/// Takes the call. Collective over the file's ranks.
pub fn set_info(function: &'static Function, arguments: &[Word]) -> Answer {
    let code = function.call(arguments);
    if let [handle, info] = *arguments
        && let Some(shared) = files::find(handle)
    {
        let mut file = shared.hold();
        // SAFETY: the program's info, in a call that takes one.
        let wanted = unsafe { changed(&file, from_word(info)) };
        apply(&mut file, wanted);
    }
    Answer::Return(code)
}

/// The hints that the first rank's info asks for, if they are not in force; nothing on other ranks, whose infos do not count.
///
/// # Safety
/// `info` is a valid info, or MPI_INFO_NULL.
pub unsafe fn changed(file: &OpenFile, info: MPI_Info) -> Option<Hints> {
    let Runner::Engine(engine) = &file.runner else { return None };
    // SAFETY: the caller's promise.
    let hints = unsafe { hints::over(engine.hints().clone(), info, file.is_first) };
    (file.is_first && hints != *engine.hints()).then_some(hints)
}

/// Puts the first rank's wish into force on all ranks. Collective.
pub fn apply(file: &mut OpenFile, wanted: Option<Hints>) {
    let Runner::Engine(engine) = &mut file.runner else { return };
    let endpoint = engine.endpoint();
    let waiting = endpoint.waiting().clone();
    let told = serde_json::to_vec(&wanted).unwrap_or_default();
    let told = waiting.wait(pin!(broadcast(endpoint, 0, &told))).unwrap_or_default();
    if let Ok(Some(hints)) = serde_json::from_slice(&told) {
        file.reopen(hints);
    }
}
