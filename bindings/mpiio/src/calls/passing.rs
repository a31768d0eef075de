//! Calls that the MPI library runs.

use crate::abi::word::Word;
use crate::entry::Answer;
use crate::files;
use crate::next::Function;

/// Hands a call on the file `arguments[0]` to the MPI library, and counts it.
pub fn note(function: &'static Function, arguments: &[Word], why: &str) -> Answer {
    if let Some(file) = arguments.first().and_then(|&handle| files::find(handle)) {
        file.tally().passed(function.name(), why);
    }
    Answer::Return(function.call(arguments))
}
