//! Calls that the MPI library runs.

use crate::abi::word::Word;
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::report;

/// Hands a call on the file `arguments[0]` to the MPI library, and counts it.
pub fn note(function: &'static Function, arguments: &[Word], why: &str) -> Answer {
    if let Some(file) = arguments.first().and_then(|&handle| files::find(handle)) {
        file.counts().passed(function.name(), why);
    }
    Answer::Return(function.call(arguments))
}

/// Hands a collective call on a file that was opened unseen (by a plug-in that the linker bound to the MPI library itself,
/// say) to the MPI library. MPI tells no file's name, so it cannot be adopted; where reports are wanted, this is told once.
pub fn unseen(function: &'static Function, arguments: &[Word]) -> Answer {
    static TOLD: std::sync::Once = std::sync::Once::new();
    if report::is_wanted() {
        TOLD.call_once(|| {
            let name = function.name();
            eprintln!("tributary: MPI_File_{name} on a file whose opening was not seen: left to MPI, as all its calls");
        });
    }
    Answer::Return(function.call(arguments))
}
