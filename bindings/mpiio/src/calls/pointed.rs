//! Handles calls at the individual file pointer that the MPI library runs, and calls that move or return the pointer.
//!
//! If this library keeps the pointer, it calls MPI's function with an explicit offset, and advances the pointer if
//! the call succeeds.

use std::ffi::c_int;

use tributary::engine::CallForm;
use tributary::{Direction, Error};
use tributary_abi::{constants, function_name};

use super::passing::{by_own_handle, note, write_at};
use super::step::Step;
use crate::entry::Answer;
use crate::file::arguments::CallArguments;
use crate::file::counts::NOT_COLLECTIVE;
use crate::file::files::{self, SharedFile};
use crate::mpi::abi::status::bytes;
use crate::mpi::abi::word::{Word, from_word, to_word};
use crate::mpi::abi::{MPI_Offset, MPI_Status, SUCCESS, check};
use crate::mpi::error_handler::returning;
use crate::mpi::next::{Form, InterposedFunction};
use crate::opening::offer::open_mpi;

/// Handles an independent read or write at the individual file pointer. `at` is MPI's function with an explicit
/// offset.
pub fn independent(
    form: Form,
    at: &'static InterposedFunction,
    function: &'static InterposedFunction,
    arguments: &[Word],
) -> Answer {
    if let Some(answer) = by_own_handle(form, arguments) {
        return answer;
    }
    let passed = note(function, arguments, NOT_COLLECTIVE, Some(form));
    let Some((call, shared)) =
        CallArguments::parse(form, arguments).zip(arguments.first().and_then(|&file| files::find(file)))
    else {
        return passed;
    };
    let asked = call.asked();
    let Some(step) = Step::take(&shared, asked) else { return passed };
    if form.direction == Direction::Write {
        return write_at(form, at, &with_offset(arguments, step.offset), |code| step.kept_if(code));
    }
    if form.ending != CallForm::Blocking || open_mpi().is_some() {
        return at_step(Some(at), arguments, Some(step));
    }
    // Open MPI advances the pointer by the number of bytes that a blocking read asked for, also at the end of the file, as the
    // standard says. ROMIO's pointer stops at the end of the file. Only the status says how far it moved, and the program may
    // ignore statuses.
    let ignores = call.result == constants().status_ignore as Word || call.result == 0;
    let own = ignores.then(|| Box::new(MPI_Status::zeroed()));
    let place = own.as_ref().map_or(call.result, |own| (&raw const **own) as Word);
    let mut given = with_offset(arguments, step.offset);
    if let Some(last) = given.last_mut() {
        *last = place;
    }
    Answer::call(at, &given, move |code| {
        if code as c_int == SUCCESS {
            // SAFETY: MPI has filled the status, which is the program's or ours.
            let read = unsafe { bytes(&*(place as *const MPI_Status)) };
            drop(own);
            step.keep_part(read.min(asked));
        }
        Answer::Return(code)
    })
}

/// Passes a call to MPI. If this library has moved its individual file pointer by `step`, calls `at`, MPI's function with an
/// explicit offset.
pub fn at_step(at: Option<&'static InterposedFunction>, arguments: &[Word], step: Option<Step>) -> Answer {
    match at.zip(step) {
        Some((at, step)) => Answer::call(at, &with_offset(arguments, step.offset), |code| step.kept_if(code)),
        None => Answer::Pass,
    }
}

/// Handles MPI_File_seek. MPI checks the arguments, and moves its own pointer to the same position.
pub fn seek_to(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, by, whence] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    // SAFETY: the arguments are an offset and an int.
    let (by, whence) = unsafe { (from_word::<MPI_Offset>(by), from_word::<c_int>(whence)) };
    let (all, own) = (constants(), shared.pointer().own());
    let Some((position, view)) = own else {
        if whence == all.seek_end {
            shared.wait_for_writes(|| None);
        }
        return Answer::Pass;
    };
    let from = match whence {
        whence if whence == all.seek_set => 0,
        whence if whence == all.seek_cur => position,
        whence if whence == all.seek_end => match file_size(&shared, handle) {
            Some(size) => view.end(size),
            None => return Answer::Pass,
        },
        _ => return Answer::Pass,
    };
    // MPI refuses a negative offset.
    let to = from.checked_add(by).unwrap_or(-1);
    Answer::call(function, &[handle, to_word(to), to_word(all.seek_set)], move |code| {
        if code as c_int == SUCCESS {
            shared.pointer().seek(to);
        }
        Answer::Return(code)
    })
}

/// Handles MPI_File_get_position: returns the pointer that this library keeps, or else MPI's.
pub fn get_position(_function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, place] = *arguments else { return Answer::Pass };
    let own = files::find(handle).and_then(|shared| shared.pointer().own());
    match own {
        Some((position, _)) if place != 0 => {
            // SAFETY: the program's place for an offset.
            unsafe { (place as *mut MPI_Offset).write(position) };
            Answer::code(SUCCESS)
        }
        Some(_) | None => Answer::Pass,
    }
}

/// Sets MPI's own individual file pointer of a file. `position` is in etypes and must not be negative.
pub fn seek(handle: Word, position: MPI_Offset) {
    static SEEK: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_seek"));
    returning(handle, || SEEK.call(&[handle, to_word(position), to_word(constants().seek_set)]));
}

/// Returns MPI's own individual file pointer of a file, in etypes.
///
/// # Errors
/// Any error of the MPI library.
pub fn position(handle: Word) -> Result<MPI_Offset, Error> {
    static GET_POSITION: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_get_position"));
    let mut position: MPI_Offset = 0;
    let code = returning(handle, || GET_POSITION.call(&[handle, (&raw mut position) as Word]));
    check("MPI_File_get_position", code as c_int).map(|()| position)
}

fn file_size(file: &SharedFile, handle: Word) -> Option<u64> {
    file.wait_for_writes(|| None);
    static GET_SIZE: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_get_size"));
    let mut size: MPI_Offset = 0;
    let code = returning(handle, || GET_SIZE.call(&[handle, (&raw mut size) as Word])) as c_int;
    u64::try_from(size).ok().filter(|_| code == SUCCESS)
}

/// Inserts `offset` after the file handle, so that arguments of a function at the file pointer fit the function with
/// an explicit offset.
pub fn with_offset(arguments: &[Word], offset: MPI_Offset) -> Vec<Word> {
    let (file, rest) = arguments.split_at(1);
    [file, &[to_word(offset)], rest].concat()
}
