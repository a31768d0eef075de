//! Handles calls that the MPI library runs.

use crate::abi::word::Word;
use crate::backend;
use crate::entry::Answer;
use crate::files;
use crate::next::InterposedFunction;
use crate::report;

/// Passes a call on the file `arguments[0]` to the MPI library, and counts it.
pub fn note(function: &'static InterposedFunction, arguments: &[Word], why: &str) -> Answer {
    let name = function.name();
    if name.starts_with("iwrite") || name.starts_with("write") && name.contains("_begin") {
        backend::note_started_write();
    }
    if let Some(file) = arguments.first().and_then(|&handle| files::find(handle)) {
        file.counts().left_to_mpi(function.name(), why);
    }
    Answer::Pass
}

/// Passes a collective call to the MPI library, on a file whose MPI_File_open this library did not see (a plug-in
/// that is bound to the MPI library directly may have opened it). The engine cannot open the file, because MPI has no
/// function that returns a file's name. Prints this once if reports are wanted.
pub fn unseen(function: &'static InterposedFunction) -> Answer {
    static TOLD: std::sync::Once = std::sync::Once::new();
    if report::is_wanted() {
        TOLD.call_once(|| {
            let name = function.name();
            tributary::say(format_args!(
                "MPI_File_{name}: the library did not see the MPI_File_open of this file, so MPI runs all calls on it"
            ));
        });
    }
    Answer::Pass
}
