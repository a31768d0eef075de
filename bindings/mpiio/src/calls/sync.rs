//! MPI_File_sync: syncs what MPI and the engine's aggregators have written, with the same result on all ranks.

use std::ffi::c_int;

use tributary::engine::binding;

use crate::abi::SUCCESS;
use crate::abi::errors::io_outcome;
use crate::abi::word::Word;
use crate::backend::Runner;
use crate::entry::Answer;
use crate::error_handler::returning;
use crate::files;
use crate::next::InterposedFunction;
use crate::pending;
use crate::unopened::CallOfUnopened;

/// Handles MPI_File_sync. Collective over the file's ranks. All ranks raise the error of one rank. MPI does not call
/// this rank's error handler before the ranks have agreed: an exception from the handler would leave the other ranks
/// waiting.
pub fn sync(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    pending::settle(&shared);
    let mut file = shared.lock();
    let (speaks, path) = (file.backend.is_first, file.backend.path.clone());
    let waiting = file.backend.waiting();
    let checked = file.backend.check_unopened(CallOfUnopened::Sync, function);
    if let Err(error) = pending::complete(waiting.as_ref(), checked) {
        return Answer::Raise { file: handle, error, speaks };
    }
    let Runner::Engine(engine) = &mut file.backend.runner else { return Answer::Pass };
    binding::call_them(engine, function.full_name());
    // The call follows only after all ranks are known to be here, because in some MPI libraries ranks wait for each
    // other. (A tool that is loaded behind this library may look at the call.)
    let synced = binding::sync_with(engine, |rank| {
        let code = returning(handle, || function.call(arguments));
        io_outcome("MPI_File_sync", code as c_int, rank, &path)
    });
    match pending::complete(waiting.as_ref(), synced) {
        Ok(()) => Answer::code(SUCCESS),
        Err(error) => Answer::Raise { file: handle, error, speaks },
    }
}
