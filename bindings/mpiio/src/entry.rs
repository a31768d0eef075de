//! The entry of every interposed call: checks whether this library is on, calls the handler, and carries out the
//! handler's answer.
//!
//! A C++ exception may leave the program's error handler and pass through MPI's functions and ours. Rust ends the
//! process if such an exception reaches `catch_unwind`. So a handler does only this library's own work, under
//! `catch_unwind`, and returns an answer that tells [`enter`] what to do next, outside of `catch_unwind` and with no
//! lock held: call MPI, or the program's error handler.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use tributary::Error;
use tributary::engine::binding::abort_job_on_error;
use tributary_abi::constants;

use crate::file::{files, report};
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::errors::class;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::error_handler::{raise, raise_now, returning};
use crate::mpi::inside::{inside, is_inside};
use crate::mpi::interposition::{self, Interposition, is_first_rank, is_supported};
use crate::mpi::next::InterposedFunction;

/// A handler's answer to an interposed call: what [`enter`] must do next.
pub enum Answer {
    /// The call returns this value: the MPI library's return value, or a return code.
    Return(Word),
    /// MPI runs the call with the program's arguments.
    Pass,
    /// `enter` calls this function of MPI, then handles the result.
    Call(Box<MpiCall>),
    /// `enter` calls the error handler of this file with an error.
    Raise {
        /// Handle of the file.
        file: Word,
        /// Error that the handler gets; the same on all ranks.
        error: Error,
        /// True if this rank prints the error, if it is printed at all ([`crate::file::failures`]): MPI's error classes say little.
        prints: bool,
    },
    /// `enter` calls the error handler of this file with a code, and goes on with `then` if the handler returns.
    RaiseFirst {
        /// Handle of the file.
        file: Word,
        /// MPI error code that the handler gets.
        code: c_int,
        /// Closure that turns the code into the next answer.
        then: Then,
    },
    /// `enter` calls these closures, which call error handlers of files for calls in flight that failed, and then
    /// returns this code.
    Failed(Vec<Box<dyn FnOnce()>>, Word),
}

/// A call of an MPI function that a handler asks for.
pub struct MpiCall {
    /// Function to be called.
    pub function: &'static InterposedFunction,
    /// Arguments of the function, each as a [`Word`].
    pub arguments: Vec<Word>,
    /// File whose errors MPI returns during this call, without calling the program's error handler: the ranks agree
    /// on the result before they raise an error.
    pub quiet: Option<Word>,
    /// Closure that turns MPI's result into the next answer.
    pub then: Then,
}

/// A closure that turns MPI's result into the next answer. An exception of the program's error handler drops the
/// closure.
pub type Then = Box<dyn FnOnce(Word) -> Answer>;

impl Answer {
    /// Returns the answer that makes the call return `code`.
    pub fn code(code: c_int) -> Self {
        Self::Return(to_word(code))
    }

    /// Returns the answer that makes [`enter`] call `function` and go on with `then`.
    pub fn call(
        function: &'static InterposedFunction,
        arguments: &[Word],
        then: impl FnOnce(Word) -> Self + 'static,
    ) -> Self {
        let arguments = arguments.to_vec();
        Self::Call(Box::new(MpiCall { function, arguments, quiet: None, then: Box::new(then) }))
    }

    /// Does what [`Answer::call`] does, but MPI does not call the error handler of `file`.
    pub fn quiet_call(
        file: Word,
        function: &'static InterposedFunction,
        arguments: &[Word],
        then: impl FnOnce(Word) -> Self + 'static,
    ) -> Self {
        let arguments = arguments.to_vec();
        Self::Call(Box::new(MpiCall { function, arguments, quiet: Some(file), then: Box::new(then) }))
    }
}

/// Handles an interposed call of `function`. It calls no function of MPI that may call the program's error handler.
pub type Handler = fn(function: &'static InterposedFunction, arguments: &[Word]) -> Answer;

/// Runs `handler` and carries out its answers, unless this library is off or the call comes from inside another handler.
pub fn enter(function: &'static InterposedFunction, arguments: &[Word], handler: Handler) -> Word {
    if !is_on() || is_inside() {
        return function.call(arguments);
    }
    let begin = report::is_timed().then(Instant::now);
    let answer = caught(function, || handler(function, arguments));
    let returned = carry_out(function, arguments, answer);
    begin.into_iter().for_each(|begin| note_time(function, arguments, returned, begin.elapsed()));
    returned
}

/// Counts the time of a call of `function` with the file that it is on.
fn note_time(function: &InterposedFunction, arguments: &[Word], returned: Word, took: Duration) {
    let file = match (function.full_name(), arguments) {
        // SAFETY: a successful MPI_File_open has written its handle, which is a pointer in every MPI library.
        ("MPI_File_open", [.., handle]) if returned as c_int == SUCCESS => unsafe { *(*handle as *const Word) },
        ("MPI_File_open", _) | (_, []) => return,
        (_, [file, ..]) => *file,
    };
    if let Some(shared) = files::find(file) {
        // If MPI has refused the call, its datatype may be invalid.
        let bytes = (returned as c_int == SUCCESS).then(|| function.bytes(arguments));
        shared.counts().took(function.name(), bytes, took);
    }
}

/// Handles a call of a function that this library exports. If Open MPI calls this library as a component, the call is
/// passed to the MPI library, which calls the component.
pub fn enter_exported(function: &'static InterposedFunction, arguments: &[Word], handler: Handler) -> Word {
    if interposition::is_active(Interposition::Preloaded) {
        enter(function, arguments, handler)
    } else {
        function.call_linked(arguments)
    }
}

/// Handles a call of Open MPI to its component.
pub fn enter_slot(function: &'static InterposedFunction, arguments: &[Word], handler: Handler) -> Word {
    let code = enter(function, arguments, handler);
    if function.may_change_hints()
        && let Some(&file) = arguments.first()
    {
        interposition::component().iter().for_each(|component| (component.show_hints)(file));
    }
    code
}

/// Runs a handler that calls MPI itself, for example to wait for requests of the program. The handler does this
/// library's own work in [`own`].
pub fn enter_uncaught(function: &'static InterposedFunction, arguments: &[Word], handler: Handler) -> Word {
    if !is_on() || is_inside() {
        return function.call(arguments);
    }
    let answer = inside(|| handler(function, arguments));
    carry_out(function, arguments, answer)
}

/// Carries out an answer to a call of `function`, and the answers that follow it. Returns the return value for the
/// program.
fn carry_out(function: &'static InterposedFunction, arguments: &[Word], mut answer: Answer) -> Word {
    loop {
        answer = match answer {
            Answer::Return(word) => return word,
            Answer::Pass => return inside(|| shown(function, arguments, || function.call(arguments))),
            Answer::Call(call) => {
                let MpiCall { function: called, arguments, quiet, then } = *call;
                let run = || match quiet {
                    Some(file) => returning(file, || called.call(&arguments)),
                    None => called.call(&arguments),
                };
                let returned = inside(|| shown(function, &arguments, run));
                caught(function, || then(returned))
            }
            Answer::Raise { file, error, prints } => {
                files::note_failure(file, function.full_name(), &error, prints);
                return raise(file, class(&error));
            }
            Answer::RaiseFirst { file, code, then } => {
                let code = raise_now(file, code);
                caught(function, || then(code))
            }
            Answer::Failed(raised, code) => {
                raised.into_iter().for_each(|raise| raise());
                return code;
            }
        }
    }
}

/// Runs a call of `function` by MPI. Meanwhile, other ranks of the host can see that this rank is in it, if the call is
/// collective over the ranks of an open file.
fn shown(function: &InterposedFunction, arguments: &[Word], call: impl FnOnce() -> Word) -> Word {
    let file = arguments.first().filter(|_| function.is_collective()).and_then(|&file| files::find(file));
    let Some(board) = file.and_then(|file| file.board.clone()) else { return call() };
    board.enter(function.full_name());
    let code = call();
    board.leave(code as c_int != SUCCESS);
    code
}

/// Runs this library's own work and returns its answer; after a panic the answer is a return code.
fn caught(function: &'static InterposedFunction, work: impl FnOnce() -> Answer) -> Answer {
    own(function, || inside(work)).unwrap_or_else(Answer::Return)
}

/// Runs work of this library in a call of `function`. The work calls no error handler of the program.
///
/// # Errors
/// A return code for the program, after a panic. By default a panic ends the job; with `trib_on_failure=return` the
/// program gets the error, and the other ranks may then wait for ever.
pub fn own<T>(function: &InterposedFunction, work: impl FnOnce() -> T) -> Result<T, Word> {
    caught_as(function.full_name(), work)
}

/// Does what [`own`] does, in a call of the MPI function with this name.
fn caught_as<T>(call: &'static str, work: impl FnOnce() -> T) -> Result<T, Word> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let what = format!("{call} panicked; please report it");
        let failed = abort_job_on_error::<()>(Err(Error::internal(0, what)));
        to_word(failed.map_or_else(|error| class(&error), |()| constants().err_other))
    })
}

/// Runs work of this library that no call of the program waits for, unless this thread is inside a handler. `call` is
/// the MPI function that a panic is reported for.
pub fn unless_inside(call: &'static str, work: impl FnOnce()) {
    if is_inside() {
        return;
    }
    // `caught_as` has already reported a panic.
    let _ = caught_as(call, || inside(work));
}

/// Returns true if this library is on. TRIB_DISABLE=1 and an MPI library with an unknown ABI turn it off.
pub fn is_on() -> bool {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ON.get_or_init(|| {
        let is_on = !tributary::is_disabled() && is_supported();
        if is_on && is_first_rank() {
            report::answer_page();
        }
        is_on
    })
}
