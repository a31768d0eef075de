//! Collective calls in two halves: the first does it all, the second tells what came of it (MPI 4.1, section 14.4.5, allows
//! either half to do the work).

use tributary::engine::Direction;

use super::collective::Place;
use crate::abi::word::Word;
use crate::abi::{SUCCESS, status};
use crate::entry::Answer;
use crate::files;
use crate::next::Function;

/// A call that was begun, and is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// Read or write.
    pub direction: Direction,
    /// Where.
    pub place: Place,
    /// Bytes of this rank that were moved.
    pub bytes: u64,
}

/// Ends a call that was begun. One that the engine did not begin is MPI's to end, or to refuse.
pub fn end(direction: Direction, place: Place, function: &'static Function, arguments: &[Word]) -> Answer {
    if let [handle, _buffer, into] = *arguments
        && let Some(shared) = files::find(handle)
    {
        let mut file = shared.hold();
        if let Some(split) = file.split.take_if(|split| (split.direction, split.place) == (direction, place)) {
            // SAFETY: the status of the program's call.
            unsafe { status::set(into as *mut _, split.bytes) };
            return Answer::code(SUCCESS);
        }
    }
    Answer::Return(function.call(arguments))
}
