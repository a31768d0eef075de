//! MPI_File_sync: what the engine's aggregators have written, then what MPI has.

use std::ffi::c_int;

use crate::abi::SUCCESS;
use crate::abi::word::Word;
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::open_file::Runner;

/// Takes the call. Collective over the file's ranks.
pub fn sync(function: &'static Function, arguments: &[Word]) -> Answer {
    let Some(shared) = arguments.first().and_then(|&handle| files::find(handle)) else {
        return Answer::Return(function.call(arguments));
    };
    let mut file = shared.hold();
    let speaks = file.is_first;
    let synced = match &mut file.runner {
        Runner::Engine { file, .. } => file.sync(),
        Runner::Later(_) | Runner::Mpi(_) => Ok(()),
    };
    drop(file);
    let code = function.call(arguments);
    match synced {
        Err(error) if code as c_int == SUCCESS => Answer::Raise { file: arguments[0], error, speaks },
        _ => Answer::Return(code),
    }
}
