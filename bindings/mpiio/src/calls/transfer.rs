//! Handles collective reads and writes, in all of MPI's forms.
//!
//! The file, the mode and the view, which are known on all ranks, decide whether the engine runs a call. A rank with
//! bad arguments takes part all the same, so that every rank gets the error (without this library, the other ranks
//! would wait for ever).
//!
//! A blocking call runs here. A non-blocking or split call is started and queued (`pending`). A blocking call is
//! queued too while other calls are in flight, because those must advance meanwhile.

use std::sync::Arc;

use tributary::engine::CallForm;
use tributary::engine::binding::abort_job_on_error;
use tributary::{Direction, Error};

use super::between;
use super::passing::unseen;
use super::pointed;
use super::split;
use super::step::Step;
use crate::entry::Answer;
use crate::file::arguments::CallArguments;
use crate::file::backend::{Ended, note_started_write};
use crate::file::files::{self, OpenFile, SharedFile};
use crate::file::pending::{self, CallTicket, MpiArguments, QueuedCall, Split};
use crate::mpi::abi::word::Word;
use crate::mpi::abi::{MPI_Offset, SUCCESS, status};
use crate::mpi::interposition;
use crate::mpi::next::{Form, InterposedFunction, Position};
use crate::view::View;

/// Returns the reason why MPI must run a call of the form `form` on any file; None if the engine can. All ranks get the
/// same answer.
fn refusal(form: Form) -> Option<&'static str> {
    let component = interposition::component().filter(|_| form.ending != CallForm::Blocking);
    component
        .is_some_and(|component| !(component.can_advance)())
        .then_some("this Open MPI does not advance calls of components")
}

/// Handles a collective read or write of the form `form`. Collective over the file's ranks. If the call uses the
/// individual file pointer, `at` is MPI's function with an explicit offset.
pub fn run(
    form: Form,
    at: Option<&'static InterposedFunction>,
    function: &'static InterposedFunction,
    arguments: &[Word],
) -> Answer {
    let handle = arguments.first().copied().unwrap_or_default();
    let (Some(shared), Some(call)) = (files::find(handle), CallArguments::parse(form, arguments)) else {
        if form.starts_write() {
            note_started_write();
        }
        return unseen(function);
    };
    let mut file = shared.lock();
    if let Some(why) = file.refusal(form.direction).or_else(|| refusal(form)) {
        if form.starts_write() {
            note_started_write();
        }
        shared.left_to_mpi(function.name(), why);
        drop(file);
        return match form.ending {
            CallForm::Split => split::pass(&shared, &call, at, arguments),
            CallForm::Blocking | CallForm::NonBlocking => pointed::at_step(at, arguments, Step::of(&call, &shared)),
        };
    }
    if form.ending != CallForm::Blocking {
        return start(&shared, &mut file, function, &call).unwrap_or_else(|error| {
            // SAFETY: the request argument of the program's call; a split collective's begin has none and does not get here.
            unsafe { status::no_request(call.result as *mut _) };
            Answer::Raise { file: handle, error, prints: file.backend.is_first }
        });
    }
    let prints = file.backend.is_first;
    let step = Step::of(&call, &shared);
    // SAFETY: the program's buffer is valid for its count and datatype, and nothing else uses it during the call.
    let mut access = unsafe { call.access(&file.view, step.as_ref().map(|step| step.offset)) };
    let outcome = if pending::is_any() {
        // Calls in flight must advance meanwhile: another rank may start this call only after one of them has ended.
        let ticket = CallTicket::new(handle, function, prints);
        file.queue.push(&shared, QueuedCall { form, access, for_mpi: None, ticket: ticket.clone() });
        drop(file);
        pending::drive(&ticket);
        ticket.outcome().cloned().unwrap_or(Ok(Ended::LeftToMpi))
    } else {
        let outcome = file.backend.transfer(form, &mut access, function, &shared);
        drop(file);
        outcome
    };
    match outcome {
        Ok(Ended::LeftToMpi) if form.direction == Direction::Write && shared.lock().backend.is_opened() => {
            between::left_write(shared, (function, arguments), at, step)
        }
        Ok(Ended::LeftToMpi) => pointed::at_step(at, arguments, step),
        Ok(ended) => {
            // SAFETY: the status of the program's call.
            unsafe { status::set(call.result as *mut _, ended.bytes()) };
            step.into_iter().for_each(Step::keep);
            Answer::code(SUCCESS)
        }
        Err(error) => {
            // SAFETY: the status of the program's call.
            unsafe { status::set(call.result as *mut _, 0) };
            Answer::Raise { file: handle, error, prints }
        }
    }
}

/// Starts a non-blocking or split call. Does not wait for other ranks; advances this rank's file pointer at once.
///
/// # Errors
/// On this rank only: another split collective is active on the file, or MPI cannot make a request.
fn start(
    shared: &Arc<SharedFile>,
    file: &mut OpenFile,
    function: &'static InterposedFunction,
    call: &CallArguments,
) -> Result<Answer, Error> {
    let form = call.form;
    if form.ending == CallForm::Split && file.split.is_some() {
        let what = "another split collective call is active on the file; end it before you begin the next";
        return Err(Error::state(what));
    }
    let step = Step::of(call, shared);
    let moved = step.as_ref().map(|step| step.offset);
    // SAFETY: the program's buffer is valid for its count and datatype, and nothing else uses it until the call has ended.
    let access = unsafe { call.access(&file.view, moved) };
    let offset = call.offset.or(moved).map_or_else(|| abort_job_on_error(pointed::position(call.file)), Ok)?;
    let for_mpi = Some(MpiArguments::new(*call, offset));
    let ticket = CallTicket::new(call.file, function, file.backend.is_first);
    if form.ending == CallForm::NonBlocking {
        // SAFETY: the request of the program's call.
        abort_job_on_error(unsafe { ticket.make_request(call.result as *mut _) })?;
    } else {
        file.split = Some(Split { form, ticket: Some(ticket.clone()) });
    }
    // If the library does not know the view, MPI keeps the pointer.
    if let (Position::Pointer, None, View::Foreign { etype, .. }) = (form.place, &step, &file.view) {
        let etypes = call.asked().checked_div(*etype).unwrap_or_default() as MPI_Offset;
        pointed::seek(call.file, offset.saturating_add(etypes));
    }
    step.into_iter().for_each(Step::keep);
    file.queue.push(shared, QueuedCall { form, access, for_mpi, ticket });
    pending::advance(shared, file);
    Ok(Answer::code(SUCCESS))
}
