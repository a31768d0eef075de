//! Handles collective calls that MPI runs on a file that the engine has opened: keeps them in order with the engine's calls.
//!
//! MPI lets a rank return from a collective call before other ranks have done their part. ROMIO's driver for NFS truncates
//! the file on every rank, without a barrier; OMPIO deletes it on one rank; both may let a rank return before another rank
//! has written. The engine's next call could then write bytes that are truncated or overwritten later. So the ranks agree
//! before MPI's call and after it.

use std::ffi::c_int;
use std::sync::Arc;

use tributary::engine::{CallKind, binding};

use super::passing::note;
use super::pointed::with_offset;
use super::step::Step;
use crate::entry::Answer;
use crate::file::backend::{CallOfUnopened, Runner};
use crate::file::counts::SHARED_POINTER;
use crate::file::files::{self, OpenFile, SharedFile};
use crate::file::pending;
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::errors::io_outcome;
use crate::mpi::abi::word::{Word, from_word, to_word};
use crate::mpi::error_handler::{raise, returning};
use crate::mpi::next::InterposedFunction;

/// Handles MPI_File_set_size. Collective over the file's ranks.
pub fn set_size(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    run(CallKind::SetLen, Some(CallOfUnopened::SetSize), function, arguments)
}

/// Handles MPI_File_preallocate. Collective over the file's ranks.
pub fn preallocate(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    run(CallKind::Preallocate, Some(CallOfUnopened::Preallocate), function, arguments)
}

/// Handles MPI_File_seek_shared, which may look for the end of the file. Collective over the file's ranks.
pub fn seek_shared(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    run(CallKind::SeekShared, None, function, arguments)
}

/// Handles writes at the shared file pointer in the order of ranks, and counts them. Collective over the file's ranks.
pub fn ordered(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    // The end of a split collective is no call of its own in reports.
    if !function.name().ends_with("_end") {
        note(function, arguments, SHARED_POINTER, None);
    }
    run(CallKind::Ordered, None, function, arguments)
}

/// Handles MPI_File_set_atomicity: passes the call to MPI, and records the mode if MPI succeeds. In atomic mode MPI runs
/// every call. The calls of the two modes are run by two libraries, so the ranks agree before and after the change if the
/// engine has opened the file.
pub fn set_atomicity(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, flag] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    // SAFETY: the argument is an int.
    let is_atomic = unsafe { from_word::<c_int>(flag) } != 0;
    let known = shared.clone();
    let record = move |file: &mut OpenFile| {
        file.is_atomic = is_atomic;
        known.sieving.iter().for_each(|sieving| sieving.set_atomic(is_atomic));
        known.own.iter().for_each(|own| own.set_atomic(is_atomic));
    };
    let unopened = Some(CallOfUnopened::SetAtomicity);
    let answer = between(&shared, CallKind::SetAtomicity, unopened, (function, arguments), record.clone());
    answer.unwrap_or_else(|| {
        Answer::call(function, arguments, move |code| {
            if code as c_int == SUCCESS {
                record(&mut shared.lock());
            }
            Answer::Return(code)
        })
    })
}

/// Handles MPI_File_sync: syncs the bytes that MPI and the engine's aggregators have written. Collective over the file's
/// ranks. All ranks raise the error of one rank. MPI does not call this rank's error handler before the ranks have agreed:
/// an exception from the handler would leave the other ranks waiting.
pub fn sync(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    pending::settle(&shared);
    let mut file = shared.lock();
    let (prints, path) = (file.backend.is_first, file.backend.path.clone());
    let waiting = file.backend.waiting();
    let checked = file.backend.check_unopened(CallOfUnopened::Sync, function);
    if let Err(error) = pending::complete(waiting.as_ref(), checked) {
        return Answer::Raise { file: handle, error, prints };
    }
    let Runner::Engine(engine) = &mut file.backend.runner else { return Answer::Pass };
    binding::call_them(engine, function.full_name());
    // The call follows only after all ranks are known to be here, because in some MPI libraries ranks wait for each
    // other. (A tool that is loaded after this library may look at the call.)
    let synced = binding::sync_with(engine, |rank| {
        let code = returning(handle, || function.call(arguments));
        io_outcome("MPI_File_sync", code as c_int, rank, &path)
    });
    match pending::complete(waiting.as_ref(), synced) {
        Ok(()) => Answer::code(SUCCESS),
        Err(error) => Answer::Raise { file: handle, error, prints },
    }
}

fn run(
    kind: CallKind,
    unopened: Option<CallOfUnopened>,
    function: &'static InterposedFunction,
    arguments: &[Word],
) -> Answer {
    let Some(shared) = arguments.first().and_then(|&handle| files::find(handle)) else { return Answer::Pass };
    between(&shared, kind, unopened, (function, arguments), |_| {}).unwrap_or(Answer::Pass)
}

/// Runs a collective call of MPI, the function and its arguments, between two agreements, if the engine has opened the
/// file. Returns the answer to the program's call: after a failure, a rank on which MPI's call failed gets MPI's code, and
/// all other ranks get the error that the ranks have agreed on. Returns None if the engine has not opened the file; MPI must
/// then run the call. If `unopened` is given, the ranks of such a file first check that all are in the same call. `then`
/// changes the file's state after success on all ranks. Collective.
fn between(
    shared: &Arc<SharedFile>,
    kind: CallKind,
    unopened: Option<CallOfUnopened>,
    (function, arguments): (&'static InterposedFunction, &[Word]),
    then: impl FnOnce(&mut OpenFile),
) -> Option<Answer> {
    let handle = *arguments.first()?;
    pending::settle(shared);
    shared.wait_for_writes(|| None);
    let mut file = shared.lock();
    let (prints, path, waiting) = (file.backend.is_first, file.backend.path.clone(), file.backend.waiting());
    if let Some(call) = unopened
        && let Err(error) = pending::complete(waiting.as_ref(), file.backend.check_unopened(call, function))
    {
        return Some(Answer::Raise { file: handle, error, prints });
    }
    let Runner::Engine(engine) = &mut file.backend.runner else { return None };
    binding::call_them(engine, function.full_name());
    let mut code = SUCCESS;
    // MPI does not call this rank's error handler before the ranks have agreed: an exception from the handler would leave
    // the other ranks waiting.
    let call = binding::run_between(engine, kind, |rank| {
        code = returning(handle, || function.call(arguments)) as c_int;
        io_outcome(function.full_name(), code, rank, &path)
    });
    Some(match pending::complete(waiting.as_ref(), call) {
        Ok(()) => {
            then(&mut file);
            Answer::code(SUCCESS)
        }
        Err(error) => failure(handle, code, error, prints),
    })
}

/// Passes a collective write that the engine cannot run to MPI. No rank returns before MPI's call has ended on all ranks.
/// `step` is the program's move of the individual file pointer, if this library keeps it: then MPI's function is `at`, which
/// has an explicit offset. Collective.
pub fn left_write(
    shared: Arc<SharedFile>,
    (function, arguments): (&'static InterposedFunction, &[Word]),
    at: Option<&'static InterposedFunction>,
    step: Option<Step>,
) -> Answer {
    let handle = arguments.first().copied().unwrap_or_default();
    let (called, given) = match (at, &step) {
        (Some(at), Some(step)) => (at, with_offset(arguments, step.offset)),
        _ => (function, arguments.to_vec()),
    };
    Answer::quiet_call(handle, called, &given, move |code| {
        let code = code as c_int;
        step.into_iter().filter(|_| code == SUCCESS).for_each(Step::keep);
        let mut file = shared.lock();
        let (prints, waiting) = (file.backend.is_first, file.backend.waiting());
        match pending::complete(waiting.as_ref(), file.backend.wait_for_all(function)) {
            Ok(()) if code == SUCCESS => Answer::code(SUCCESS),
            Ok(()) => mpi_failure(handle, code),
            Err(error) => failure(handle, code, error, prints),
        }
    })
}

/// Returns the answer after a failure: MPI's `code` on a rank where MPI failed, otherwise the error of all ranks.
fn failure(handle: Word, code: c_int, error: tributary::Error, prints: bool) -> Answer {
    if code == SUCCESS { Answer::Raise { file: handle, error, prints } } else { mpi_failure(handle, code) }
}

/// Returns the answer that calls the file's error handler with MPI's code.
fn mpi_failure(handle: Word, code: c_int) -> Answer {
    let raised: Box<dyn FnOnce()> = Box::new(move || {
        raise(handle, code);
    });
    Answer::Failed(vec![raised], to_word(code))
}
