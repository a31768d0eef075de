//! Split collectives: the begin call starts the operation, the end call waits for it.

use std::ffi::c_int;
use std::sync::Arc;

use tributary::engine::Direction;

use super::collective::{Form, Position};
use crate::abi::word::Word;
use crate::abi::{SUCCESS, status};
use crate::entry::{Answer, outside};
use crate::files;
use crate::next::Function;
use crate::pending::{self, Ticket};

/// A split collective that was begun.
pub struct Split {
    direction: Direction,
    place: Position,
    ticket: Arc<Ticket>,
}

impl Split {
    /// A call of this form.
    pub fn new(form: Form, ticket: Arc<Ticket>) -> Self {
        Self { direction: form.direction, place: form.place, ticket }
    }
}

/// Ends a split collective. If the engine did not begin one, MPI ends it or returns an error.
pub fn end(direction: Direction, place: Position, function: &'static Function, arguments: &[Word]) -> Answer {
    let begun = |shared: Arc<files::Shared>| {
        shared.lock().split.take_if(|split| (split.direction, split.place) == (direction, place))
    };
    let [handle, _buffer, into] = *arguments else { return Answer::Return(function.call(arguments)) };
    let Some(Split { ticket, .. }) = files::find(handle).and_then(begun) else {
        return Answer::Return(function.call(arguments));
    };
    pending::drive(&ticket);
    let bytes = ticket.outcome().and_then(|outcome| outcome.as_ref().ok()).map_or(0, |ended| ended.bytes());
    // SAFETY: the status of the program's call.
    unsafe { status::set(into as *mut _, bytes) };
    let code = if ticket.code() == SUCCESS { SUCCESS } else { outside(|| ticket.raise()) };
    Answer::code(code as c_int)
}
