//! MPI_File_sync: syncs what MPI and the engine's aggregators have written, with the same result on all ranks.

use std::ffi::c_int;

use crate::abi::SUCCESS;
use crate::abi::errors::{class, io_outcome};
use crate::abi::word::Word;
use crate::backend::Runner;
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::pending;

/// Handles the call. Collective over the file's ranks.
pub fn sync(function: &'static Function, arguments: &[Word]) -> Answer {
    let Some(shared) = arguments.first().and_then(|&handle| files::find(handle)) else {
        return Answer::Return(function.call(arguments));
    };
    pending::settle(&shared);
    let mut file = shared.lock();
    let (speaks, path) = (file.backend.is_first, file.backend.path.clone());
    let Runner::Engine(engine) = &mut file.backend.runner else {
        drop(file);
        return Answer::Return(function.call(arguments));
    };
    engine.call_them(function.full_name());
    let mut code = SUCCESS;
    // Only once all ranks are known to be here: in some MPI libraries ranks wait for each other. (A tool that is loaded behind this
    // library may look at the call.)
    let synced = engine.sync_with(|rank| {
        code = function.call(arguments) as c_int;
        io_outcome("MPI_File_sync", code, rank, &path)
    });
    match synced {
        Ok(()) => Answer::code(SUCCESS),
        // The MPI library has called the error handler on this rank.
        Err(error) if code != SUCCESS => Answer::code(class(&error)),
        Err(error) => Answer::Raise { file: arguments[0], error, speaks },
    }
}
