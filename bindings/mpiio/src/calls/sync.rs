//! MPI_File_sync: syncs what MPI and the engine's aggregators have written, with the same result on all ranks.

use std::ffi::c_int;

use crate::abi::SUCCESS;
use crate::abi::errors::io_outcome;
use crate::abi::word::Word;
use crate::backend::Runner;
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::pending;

/// Handles the call. Collective over the file's ranks. All of them raise the error of one: MPI does not call this rank's error handler
/// before, from which an exception may go past the agreement that the others wait for.
pub fn sync(function: &'static Function, arguments: &[Word]) -> Answer {
    let [handle] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    pending::settle(&shared);
    if !matches!(shared.lock().backend.runner, Runner::Engine { .. }) {
        return Answer::Pass;
    }
    // A tool that is loaded behind this library may look at the call.
    Answer::quiet_call(handle, function, arguments, move |code| {
        let mut file = shared.lock();
        let (speaks, path) = (file.backend.is_first, file.backend.path.clone());
        let Runner::Engine { file: engine, .. } = &mut file.backend.runner else { return Answer::Return(code) };
        let own = io_outcome("MPI_File_sync", code as c_int, engine.endpoint().rank(), &path);
        match engine.sync_after(own) {
            Ok(()) => Answer::code(SUCCESS),
            Err(error) => Answer::Raise { file: handle, error, speaks },
        }
    })
}
