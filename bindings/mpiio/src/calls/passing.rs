//! Handles calls that the MPI library runs.

use std::ffi::c_int;

use tributary::engine::{Direction, may_be_behind};

use super::collective::{CallArguments, CountType, Ending, Form, Position};
use crate::abi::word::Word;
use crate::abi::{MPI_Offset, SUCCESS, has_one_thread_at_a_time};
use crate::backend;
use crate::counts::ALONE;
use crate::entry::Answer;
use crate::files::{self, SharedFile};
use crate::next::InterposedFunction;
use crate::pending;
use crate::report;
use crate::sieving;

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

/// Returns the handle through which MPI may run a blocking independent write of a file by data sieving; None if the write is
/// not strided, or if another rank may be writing through this library ([`sieving`]). Local.
fn sieving_handle(file: &SharedFile, handle: Word) -> Option<Word> {
    let is_strided = file.pointer().own().is_some_and(|(_, view)| !view.is_contiguous());
    // On NFS, ranks write through handles of their own.
    if !is_strided || file.own.is_some() {
        return None;
    }
    sieving::want();
    let is_one_at_a_time = has_one_thread_at_a_time().unwrap_or(false);
    let is_safe = is_one_at_a_time && !pending::is_any() && !may_be_behind() && !sieving::is_promised();
    if is_safe { file.sieving_handle(handle) } else { None }
}

/// Passes an independent blocking read or write at an explicit offset, of the form `form`, to the MPI library, and counts it.
pub fn at_offset(form: Form, function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let passed = note(function, arguments, ALONE);
    if form.direction == Direction::Read { passed } else { write_at(function, arguments, Answer::Return) }
}

/// Passes an independent blocking write of the file `arguments[0]`, at an explicit offset, to MPI as a call of `at`.
/// If MPI may sieve, the call uses the handle for that, and raises an error for the program's handle.
pub fn write_at(
    at: &'static InterposedFunction,
    arguments: &[Word],
    then: impl FnOnce(Word) -> Answer + 'static,
) -> Answer {
    let first = arguments.first().copied().unwrap_or_default();
    let Some(second) = files::find(first).and_then(|file| sieving_handle(&file, first)) else {
        return Answer::call(at, arguments, then);
    };
    let mut arguments = arguments.to_vec();
    arguments[0] = second;
    Answer::quiet_call(second, at, &arguments, move |code| match code as c_int {
        SUCCESS => then(code),
        code => Answer::RaiseFirst { file: first, code, then: Box::new(then) },
    })
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
