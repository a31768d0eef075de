//! Handles independent calls, and other calls that the MPI library runs.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

use tributary::access::OwnedAccess;
use tributary::engine::CallForm;
use tributary::{Direction, Error};

use super::step::Step;
use crate::entry::Answer;
use crate::file::arguments::CallArguments;
use crate::file::counts::NOT_COLLECTIVE;
use crate::file::files::{self, SharedFile};
use crate::file::sieving::{Sieving, WriteRoute};
use crate::file::{backend, pending, report};
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::abi::{MPI_Offset, SUCCESS, status};
use crate::mpi::next::{Form, InterposedFunction, Position};
use crate::view::View;

/// Runs an independent call of the form `form` through this library's own handle of the file, if it has one (NFS). Returns
/// None if MPI must run the call, as it does if the call does not block; then nothing has happened. Local.
pub fn by_own_handle(form: Form, arguments: &[Word]) -> Option<Answer> {
    if form.ending != CallForm::Blocking {
        return None;
    }
    let handle = *arguments.first()?;
    let shared = files::find(handle)?;
    let own = shared.own.as_ref().filter(|own| own.is_used())?;
    let call = CallArguments::parse(form, arguments)?;
    let (_, view) = shared.pointer().own()?;
    shared.wait_for_writes(|| None);
    // If the step is dropped, the file pointer moves back.
    let step = Step::of(&call, &shared);
    // SAFETY: the program's buffer is valid for its count and datatype, and nothing else uses it during the call.
    let access = unsafe { call.access(&View::Engine(view), step.as_ref().map(|step| step.offset)) };
    let mut access = access.ok().filter(|access| access.file.bytes() > 0)?;
    let moved = own.transfer(access.lent(), false)?;
    shared.counts().past_cache += 1;
    Some(match moved {
        Ok(bytes) => {
            // SAFETY: the status of the program's call.
            unsafe { status::set(call.result as *mut _, bytes) };
            // The pointer stops at the end of the file, as ROMIO's does.
            step.into_iter().for_each(|step| step.keep_part(bytes));
            Answer::code(SUCCESS)
        }
        Err(error) => {
            // SAFETY: the status of the program's call.
            unsafe { status::set(call.result as *mut _, 0) };
            Answer::Raise { file: handle, error, prints: true }
        }
    })
}

/// Passes a read or write of the file `arguments[0]` to the MPI library, and counts it. An independent call, of the form
/// `form`, first waits for buffered bytes of collective calls in its range; any other call waits for all such bytes.
pub fn note(function: &'static InterposedFunction, arguments: &[Word], why: &str, form: Option<Form>) -> Answer {
    let name = function.name();
    if name.starts_with("iwrite") || name.starts_with("write") && name.contains("_begin") {
        backend::note_started_write();
    }
    if let Some(file) = arguments.first().and_then(|&handle| files::find(handle)) {
        file.counts().left_to_mpi(name, why);
        file.wait_for_writes(|| place(&file, form?, arguments));
    }
    Answer::Pass
}

/// Handles an independent read or write at an explicit offset, of the form `form`.
pub fn at_offset(form: Form, function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    if let Some(answer) = by_own_handle(form, arguments) {
        return answer;
    }
    let passed = note(function, arguments, NOT_COLLECTIVE, Some(form));
    if form.direction == Direction::Read { passed } else { write_at(form, function, arguments, Answer::Return) }
}

/// Runs an independent write of the file `arguments[0]`, of the form `form`, as a call of MPI's function `at` with an
/// explicit offset, or piece by piece ([`sieving`](crate::file::sieving)). The program gets an error on its own handle.
pub fn write_at(
    form: Form,
    at: &'static InterposedFunction,
    arguments: &[Word],
    then: impl FnOnce(Word) -> Answer + 'static,
) -> Answer {
    let first = arguments.first().copied().unwrap_or_default();
    let shared = files::find(first);
    let known = shared.as_ref().and_then(|shared| known_access(shared, form, arguments));
    let Some((sieving, mut access, call)) = known else { return Answer::call(at, arguments, then) };
    match sieving.route(&access, first, (form.ending == CallForm::Blocking, pending::is_any())) {
        WriteRoute::Program => {}
        WriteRoute::Second(second) => {
            let mut arguments = arguments.to_vec();
            arguments[0] = second;
            return Answer::quiet_call(second, at, &arguments, move |code| match code as c_int {
                SUCCESS => then(code),
                code => Answer::RaiseFirst { file: first, code, then: Box::new(then) },
            });
        }
        WriteRoute::Locked => {
            let lock = shared.clone().and_then(|shared| LockedRange::take(shared, &access));
            return Answer::call(at, arguments, move |code| {
                drop(lock);
                then(code)
            });
        }
        WriteRoute::Pieces => {
            // On NFS this call goes the way of blocking ones, which take no lock.
            let own = shared.as_ref().and_then(|shared| shared.own.as_ref());
            if let Some(written) = own.unwrap_or(&sieving.pieces).transfer(access.lent(), own.is_none()) {
                return match answer(&call, written) {
                    Ok(()) => then(to_word(SUCCESS)),
                    Err(error) => Answer::Raise { file: first, error, prints: true },
                };
            }
        }
    }
    Answer::call(at, arguments, then)
}

/// Sets the status of a write that has ended, or makes its request, which is complete; none if it failed.
///
/// # Errors
/// The error of the write, and any error of the MPI library.
fn answer(call: &CallArguments, written: Result<u64, Error>) -> Result<(), Error> {
    let bytes = *written.as_ref().unwrap_or(&0);
    // SAFETY: the status or the request of the program's call; a file is open, so MPI is initialised.
    unsafe {
        match (call.form.ending, &written) {
            (CallForm::Blocking, _) => status::set(call.result as *mut _, bytes),
            (_, Ok(_)) => pending::make_ended(bytes, call.result as *mut _)?,
            (_, Err(_)) => status::no_request(call.result as *mut _),
        }
    }
    written.map(drop)
}

/// A lock on a range of a file, which is released when it is dropped.
struct LockedRange(Arc<SharedFile>, Range<u64>);

impl LockedRange {
    /// Takes the lock on the range of an access; None if there is none.
    fn take(shared: Arc<SharedFile>, access: &OwnedAccess<'_>) -> Option<Self> {
        let (start, end) = access.file.span()?;
        let is_taken = shared.sieving.as_ref()?.pieces.lock(start..end, true);
        is_taken.then(|| Self(shared, start..end))
    }
}

impl Drop for LockedRange {
    fn drop(&mut self) {
        if let Some(sieving) = &self.0.sieving {
            // If this fails, the lock ends when the handle is closed.
            sieving.pieces.lock(self.1.clone(), false);
        }
    }
}

/// Returns the access of an independent write at an explicit offset, if MPI is kept from data sieving on the file, this library
/// knows the access, and it may have several pieces. On NFS, where blocking calls have gone through a handle of this library's own
/// already, only for others of several pieces. Local.
fn known_access<'a>(
    shared: &'a SharedFile,
    form: Form,
    arguments: &[Word],
) -> Option<(&'a Sieving, OwnedAccess<'a>, CallArguments)> {
    let sieving = shared.sieving.as_ref()?;
    if shared.own.is_some() && form.ending == CallForm::Blocking {
        return None;
    }
    let call = CallArguments::parse(Form { place: Position::Offset, ..form }, arguments)?;
    let (_, view) = shared.pointer().own()?;
    if view.is_contiguous() && call.has_one_piece_of_memory() {
        return None;
    }
    // SAFETY: the program's buffer is valid for its count and datatype, and nobody writes to it during the call.
    let access = unsafe { call.access(&View::Engine(view), None) }.ok()?;
    (shared.own.is_none() || access.file.count() > 1).then_some((sieving, access, call))
}

/// Returns the offset, in etypes, and the number of bytes of an independent read or write; None if it is unknown.
fn place(file: &SharedFile, form: Form, arguments: &[Word]) -> Option<(MPI_Offset, u64)> {
    let call = CallArguments::parse(form, arguments)?;
    let offset = call.offset.or_else(|| Some(file.pointer().own()?.0))?;
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
    static PRINTED: std::sync::Once = std::sync::Once::new();
    if report::is_wanted() {
        PRINTED.call_once(|| {
            let name = function.name();
            tributary::say(format_args!(
                "MPI_File_{name}: the library did not see the MPI_File_open of this file, so MPI runs all calls on it"
            ));
        });
    }
    Answer::Pass
}
