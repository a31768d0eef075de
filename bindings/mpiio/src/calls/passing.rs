//! Handles calls that the MPI library runs.

use tributary::engine::Direction;

use super::collective::{CallArguments, CountType, Ending, Form, Position};
use crate::abi::MPI_Offset;
use crate::abi::word::Word;
use crate::backend;
use crate::entry::Answer;
use crate::files::{self, SharedFile};
use crate::next::InterposedFunction;
use crate::report;

/// Passes a read or write of the file `arguments[0]` to the MPI library, and counts it. An independent one waits for bytes
/// that collective calls have left behind, if it touches them.
pub fn note(function: &'static InterposedFunction, arguments: &[Word], why: &str) -> Answer {
    let name = function.name();
    if name.starts_with("iwrite") || name.starts_with("write") && name.contains("_begin") {
        backend::note_started_write();
    }
    if let Some(file) = arguments.first().and_then(|&handle| files::find(handle)) {
        file.counts().left_to_mpi(function.name(), why);
        file.wait_for_writes(|| place(&file, function.name(), arguments));
    }
    Answer::Pass
}

/// Returns the offset, in etypes, and the number of bytes of an independent read or write; None if it is unknown.
fn place(file: &SharedFile, name: &str, arguments: &[Word]) -> Option<(MPI_Offset, u64)> {
    let form = Form {
        direction: Direction::Read,
        place: if name.contains("_at") { Position::Offset } else { Position::Pointer },
        ending: Ending::Now,
        counts: if name.ends_with("_c") { CountType::Large } else { CountType::Int },
    };
    if name.contains("_shared") || name.contains("_ordered") {
        return None;
    }
    let call = CallArguments::parse(form, arguments)?;
    let offset = call.offset().or_else(|| Some(file.pointer().own()?.0))?;
    Some((offset, call.asked()))
}

/// Passes a call on the file `arguments[0]` to the MPI library, after the bytes of all collective calls are in the file.
pub fn after_writes(_function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    if let Some(file) = arguments.first().and_then(|&handle| files::find(handle)) {
        file.wait_for_writes(|| None);
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
