//! Handles collective reads and writes, in all of MPI's forms.
//!
//! The file, the mode and the view, which are known on all ranks, decide whether the engine runs a call. A rank with
//! bad arguments takes part all the same, so that every rank gets the error (with MPI alone the other ranks would
//! wait for ever).
//!
//! A blocking call runs here. A non-blocking or split call is started and queued (`pending`). A blocking call is
//! queued too while other calls are in flight, because those must advance meanwhile.

use std::ffi::c_int;
use std::sync::Arc;

use tributary::access::{Memory, OwnedAccess};
use tributary::engine::CallForm;
use tributary::engine::binding::alone;
use tributary::error::About;
use tributary::{Direction, Error};
use tributary_abi::handles;

use super::between;
use super::passing::unseen;
use super::pointed;
use super::split;
use super::step::Step;
use crate::abi::types::{Kept, size};
use crate::abi::word::{Word, from_word};
use crate::abi::{MPI_Datatype, MPI_Offset, SUCCESS, status};
use crate::backend::{Ended, left_to_mpi, note_started_write};
use crate::component;
use crate::datatype::{FlatMemory, flattened};
use crate::door;
use crate::entry::Answer;
use crate::files::{self, OpenFile, SharedFile};
use crate::next::{CountType, Form, InterposedFunction, Position};
use crate::pending::{self, CallTicket, MpiArguments, QueuedCall, Split};
use crate::view::View;

/// Returns the reason why MPI must run a call of the form `form` on any file; None if the engine can. All ranks get the
/// same answer.
fn refusal(form: Form) -> Option<&'static str> {
    let is_in_flight = form.ending != CallForm::Blocking && door::is_component();
    (is_in_flight && !component::can_advance()).then_some("this Open MPI does not advance calls of components")
}

/// The arguments that this rank passed to a read or write.
pub struct CallArguments {
    /// Form of the function.
    pub form: Form,
    /// The file handle.
    file: Word,
    /// Explicit offset in etypes; None if the call uses the individual file pointer.
    pub offset: Option<MPI_Offset>,
    buffer: *mut u8,
    count: i64,
    datatype: MPI_Datatype,
    /// Address of the status or the request; 0 for the begin of a split collective.
    pub result: Word,
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
            CallForm::Blocking | CallForm::NonBlocking => {
                pointed::at_step(at, arguments, Step::take(&shared, call.asked()))
            }
        };
    }
    if form.ending != CallForm::Blocking {
        return start(&shared, &mut file, function, &call).unwrap_or_else(|error| {
            // SAFETY: the request argument of the program's call; a split collective's begin has none and does not get here.
            unsafe { status::no_request(call.result as *mut _) };
            Answer::Raise { file: handle, error, speaks: file.backend.is_first }
        });
    }
    let speaks = file.backend.is_first;
    // SAFETY: the program's buffer is valid for its count and datatype, and nothing else uses it during the call.
    let (mut access, step) = unsafe { call.access(&file.view, &shared) };
    let outcome = if pending::is_any() {
        // Calls in flight must advance meanwhile: another rank may start this call only after one of them has ended.
        let ticket = CallTicket::new(handle, function, speaks);
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
            // SAFETY: as above.
            unsafe { status::set(call.result as *mut _, 0) };
            Answer::Raise { file: handle, error, speaks }
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
    // SAFETY: the program's buffer is valid for its count and datatype, and nothing else uses it until the call has ended.
    let (access, step) = unsafe { call.access(&file.view, shared) };
    let for_mpi = alone(call.for_mpi(step.as_ref()))?;
    let ticket = CallTicket::new(call.file, function, file.backend.is_first);
    if form.ending == CallForm::NonBlocking {
        // SAFETY: the request of the program's call.
        alone(unsafe { ticket.make_request(call.result as *mut _) })?;
    } else {
        file.split = Some(Split { form, ticket: Some(ticket.clone()) });
    }
    // If the library does not know the view, MPI keeps the pointer.
    if let (Position::Pointer, None, View::Foreign { etype, .. }) = (form.place, &step, &file.view) {
        let etypes = call.asked().checked_div(*etype).unwrap_or_default() as MPI_Offset;
        pointed::seek(call.file, for_mpi.offset.saturating_add(etypes));
    }
    step.into_iter().for_each(Step::keep);
    file.queue.push(shared, QueuedCall { form, access, for_mpi: Some(for_mpi), ticket });
    pending::advance(shared, file);
    Ok(Answer::code(SUCCESS))
}

impl CallArguments {
    /// Decodes the program's arguments of the function that `form` describes: file, offset (if the function has one),
    /// buffer, count, datatype, and status or request (if the function has one).
    pub fn parse(form: Form, arguments: &[Word]) -> Option<Self> {
        let mut rest = arguments.iter().copied().skip(1);
        // SAFETY: each argument has the type that the function declares at its position.
        unsafe {
            Some(Self {
                form,
                file: *arguments.first()?,
                offset: if form.place == Position::Offset { Some(from_word(rest.next()?)) } else { None },
                buffer: rest.next()? as *mut u8,
                count: match form.counts {
                    CountType::Int => i64::from(from_word::<c_int>(rest.next()?)),
                    CountType::Large => from_word(rest.next()?),
                },
                datatype: MPI_Datatype::from_word(rest.next()?),
                result: if form.ending == CallForm::Split { 0 } else { rest.next()? },
            })
        }
    }

    /// Returns the number of bytes that the program asks to move; 0 if the arguments are not allowed.
    pub fn asked(&self) -> u64 {
        if self.datatype == handles().datatype_null {
            return 0;
        }
        // SAFETY: MPI is initialised, as a file is open, and checks the datatype.
        let size = unsafe { size(self.datatype) };
        u64::try_from(self.count).ok().and_then(|count| size.checked_mul(count)).unwrap_or_default()
    }

    /// Returns true if the memory is certainly one piece.
    pub fn has_one_piece_of_memory(&self) -> bool {
        flattened(self.datatype).is_ok_and(|flat| flat.is_contiguous())
    }

    /// Returns the access that the arguments describe. If the call uses an individual file pointer that this library
    /// keeps, also returns the step by which the pointer has moved.
    ///
    /// # Safety
    /// The program's buffer is valid for its count and datatype, for reads in a write, and for writes in a read, in which
    /// nothing else uses it; both for `'a`.
    pub unsafe fn access<'a>(
        &self,
        view: &View,
        shared: &Arc<SharedFile>,
    ) -> (Result<OwnedAccess<'a>, Error>, Option<Step>) {
        let step = if self.offset.is_none() { Step::take(shared, self.asked()) } else { None };
        // SAFETY: the caller's promise.
        (unsafe { self.located(view, step.as_ref()) }, step)
    }

    /// Returns the access that the arguments describe, for a call at an explicit offset or at that of `step`.
    ///
    /// # Errors
    /// An argument is not allowed, or only MPI supports the view or the datatype.
    ///
    /// # Safety
    /// The requirements of [`CallArguments::access`].
    pub unsafe fn located<'a>(&self, view: &View, step: Option<&Step>) -> Result<OwnedAccess<'a>, Error> {
        let known = match view {
            View::Engine(known) => known,
            View::Foreign { why, .. } => return Err(left_to_mpi(why)),
        };
        let Ok(count) = u64::try_from(self.count) else {
            return Err(Error::argument("count", self.count, "0 or more").about(About::Count));
        };
        let flat = flattened(self.datatype).map_err(|error| match error {
            Error::Argument { about: About::Datatype, .. } => error,
            _ => left_to_mpi(error),
        })?;
        let too_long = || Error::argument("count", count, "less than 2^63 bytes in all").about(About::Count);
        let bytes = flat.size().checked_mul(count).ok_or_else(too_long)?;
        let offset = self.offset.or(step.map(|step| step.offset));
        let offset = offset.ok_or_else(|| left_to_mpi("MPI_MODE_SEQUENTIAL"))?;
        let file = known.select(offset, bytes)?;
        let FlatMemory { displacement, span, layout } = flat.memory(count)?;
        let start = self.buffer.wrapping_offset(displacement as isize);
        // SAFETY: the caller's promise: the layout lists the bytes of the elements.
        let memory = unsafe { Memory::from_raw_parts(self.form.direction, start, span as usize) };
        Ok(OwnedAccess { file, layout, memory })
    }

    /// Returns the arguments with which MPI can run the call if the engine does not.
    fn for_mpi(&self, step: Option<&Step>) -> Result<MpiArguments, Error> {
        let offset = match self.offset.or(step.map(|step| step.offset)) {
            Some(offset) => offset,
            None => pointed::position(self.file)?,
        };
        let is_null = self.datatype == handles().datatype_null;
        // SAFETY: the program's datatype, which MPI checks.
        let datatype = if is_null { None } else { unsafe { Kept::from_datatype(self.datatype) }.ok() };
        let datatype = datatype.unwrap_or_else(Kept::none);
        let Self { form, file, buffer, count, .. } = *self;
        Ok(MpiArguments { form, file, offset, buffer, count, datatype })
    }
}
