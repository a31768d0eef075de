//! Handles split collectives: the begin call starts the operation, the end call waits for it.

use std::ffi::c_int;
use std::sync::Arc;

use tributary::Direction;

use super::pointed::with_offset;
use super::step::Step;
use crate::entry::Answer;
use crate::file::arguments::CallArguments;
use crate::file::files::{self, SharedFile};
use crate::file::pending::{self, Split};
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::abi::{SUCCESS, status};
use crate::mpi::next::{InterposedFunction, Position};

/// Passes the begin of a split collective to MPI. If this library keeps the file pointer, calls `at`, MPI's function
/// with an explicit offset.
pub fn pass(
    shared: &Arc<SharedFile>,
    call: &CallArguments,
    at: Option<&'static InterposedFunction>,
    arguments: &[Word],
) -> Answer {
    let Some((at, step)) = at.zip(Step::of(call, shared)) else { return Answer::Pass };
    let (shared, form) = (shared.clone(), call.form);
    Answer::call(at, &with_offset(arguments, step.offset), move |code| {
        if code as c_int == SUCCESS {
            step.keep();
            shared.lock().split = Some(Split { form, ticket: None });
        }
        Answer::Return(code)
    })
}

/// Ends a split collective. If the engine did not begin one, MPI ends its own or returns an error. `at` is MPI's end
/// function of the form with an explicit offset.
pub fn end(
    direction: Direction,
    place: Position,
    at: Option<&'static InterposedFunction>,
    function: &'static InterposedFunction,
    arguments: &[Word],
) -> Answer {
    let begun = |shared: Arc<SharedFile>| {
        shared.lock().split.take_if(|split| (split.form.direction, split.form.place) == (direction, place))
    };
    let [handle, _buffer, into] = *arguments else { return Answer::Pass };
    let Some(Split { ticket, .. }) = files::find(handle).and_then(begun) else { return Answer::Pass };
    let Some(ticket) = ticket else { return Answer::call(at.unwrap_or(function), arguments, Answer::Return) };
    pending::drive(&ticket);
    let bytes = ticket.outcome().and_then(|outcome| outcome.as_ref().ok()).map_or(0, |ended| ended.bytes());
    // SAFETY: the status of the program's call.
    unsafe { status::set(into as *mut _, bytes) };
    match ticket.code() {
        SUCCESS => Answer::code(SUCCESS),
        code => Answer::Failed(vec![ticket.raiser()], to_word(code)),
    }
}
