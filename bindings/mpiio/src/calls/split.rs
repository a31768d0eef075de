//! Collective calls in two halves: the first does it all, the second tells what came of it (MPI 4.1, section 14.4.5, allows
//! either half to do the work).

use tributary::Error;
use tributary::engine::Direction;

use super::collective::{Form, Place};
use crate::abi::errors::Class;
use crate::abi::word::Word;
use crate::abi::{SUCCESS, status};
use crate::entry::Answer;
use crate::files;
use crate::next::Function;

/// A call that was begun, and is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    direction: Direction,
    place: Place,
    /// Bytes of this rank that were moved; or the error that the beginning returned, on all ranks.
    outcome: Result<u64, Error>,
}

impl Split {
    /// What its end will tell.
    pub fn new(form: Form, outcome: Result<u64, Error>) -> Self {
        Self { direction: form.direction, place: form.place, outcome }
    }
}

/// Ends a call that was begun. One that the engine did not begin is MPI's to end, or to refuse.
pub fn end(direction: Direction, place: Place, function: &'static Function, arguments: &[Word]) -> Answer {
    if let [handle, _buffer, into] = *arguments
        && let Some(shared) = files::find(handle)
    {
        let mut file = shared.hold();
        if let Some(split) = file.split.take_if(|split| (split.direction, split.place) == (direction, place)) {
            // SAFETY: the status of the program's call.
            unsafe { status::set(into as *mut _, *split.outcome.as_ref().unwrap_or(&0)) };
            // The error was raised, and put in words, by the call that began.
            return Answer::code(split.outcome.map_or_else(|error| Class::of(&error).number(), |_| SUCCESS));
        }
    }
    Answer::Return(function.call(arguments))
}
