//! The entry of every interposed call: checks whether this library is on, and carries out a handler's answer.
//!
//! A C++ exception may leave the program's error handler and pass through MPI's functions and ours. Rust ends the process if
//! such an exception reaches `catch_unwind`. So a handler does this library's own work, under `catch_unwind`, and answers what
//! [`enter`] is to do next, outside of it and with no lock held: call MPI, or the program's error handler.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary::Error;
use tributary::engine::alone;
use tributary_abi::constants;

use crate::abi::errors::class;
use crate::abi::word::{Word, to_word};
use crate::error_handler::{raise, returning};
use crate::next::Function;
use crate::report;
use crate::supported::{is_first_rank, is_supported};

/// A handler's answer to a call.
pub enum Answer {
    /// The MPI library's return value, or a return code.
    Return(Word),
    /// MPI runs the call with the program's arguments.
    Pass,
    /// A call of MPI, and what to do with its result.
    Call(Box<MpiCall>),
    /// An error, for the error handler of this file.
    Raise {
        /// The file handle.
        file: Word,
        /// The error; the same on all ranks.
        error: Error,
        /// True if this rank prints the error: MPI's error classes say little.
        speaks: bool,
    },
    /// The code of an error for the error handler of this file, and what to do if that returns.
    RaiseFirst {
        /// The file handle.
        file: Word,
        /// The code.
        code: c_int,
        /// Turns the code into the next answer.
        then: Then,
    },
    /// What calls the error handlers of files, for calls in flight that failed, and the return code.
    Failed(Vec<Box<dyn FnOnce()>>, Word),
}

/// A call of MPI for a handler.
pub struct MpiCall {
    /// The function.
    pub function: &'static Function,
    /// Its arguments.
    pub arguments: Vec<Word>,
    /// A file whose errors MPI returns during this call, without the program's error handler: the ranks agree on the result
    /// before they raise an error.
    pub quiet: Option<Word>,
    /// Turns MPI's result into the next answer.
    pub then: Then,
}

/// Turns MPI's result into the next answer. An exception of the program's error handler drops it.
pub type Then = Box<dyn FnOnce(Word) -> Answer>;

impl Answer {
    /// Returns a return code.
    pub fn code(code: c_int) -> Self {
        Self::Return(to_word(code))
    }

    /// Returns a call of `function`, and what to do with its result.
    pub fn call(function: &'static Function, arguments: &[Word], then: impl FnOnce(Word) -> Self + 'static) -> Self {
        let arguments = arguments.to_vec();
        Self::Call(Box::new(MpiCall { function, arguments, quiet: None, then: Box::new(then) }))
    }

    /// As [`Answer::call`], and MPI does not call the error handler of `file`.
    pub fn quiet_call(
        file: Word,
        function: &'static Function,
        arguments: &[Word],
        then: impl FnOnce(Word) -> Self + 'static,
    ) -> Self {
        let arguments = arguments.to_vec();
        Self::Call(Box::new(MpiCall { function, arguments, quiet: Some(file), then: Box::new(then) }))
    }
}

/// Handles an interposed call of `function`. It calls no function of MPI that may call the program's error handler.
pub type Handler = fn(function: &'static Function, arguments: &[Word]) -> Answer;

thread_local! {
    /// Set while this thread is inside a handler: calls from there go straight to MPI.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Sets INSIDE until it is dropped, also by an exception.
struct Inside;

impl Inside {
    fn begin() -> Self {
        INSIDE.set(true);
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// Runs `handler` and carries out its answers, unless this library is off or the call comes from inside another handler.
pub fn enter(function: &'static Function, arguments: &[Word], handler: Handler) -> Word {
    if !is_on() || INSIDE.get() {
        return function.call(arguments);
    }
    let answer = caught(function, || handler(function, arguments));
    carry_out(function, arguments, answer)
}

/// Runs a handler that calls MPI itself, such as one that waits for requests of the program. It does this library's own work by
/// [`own`].
pub fn enter_uncaught(function: &'static Function, arguments: &[Word], handler: Handler) -> Word {
    if !is_on() || INSIDE.get() {
        return function.call(arguments);
    }
    let answer = inside(|| handler(function, arguments));
    carry_out(function, arguments, answer)
}

/// Carries out an answer to a call of `function`, and those that follow it.
fn carry_out(function: &'static Function, arguments: &[Word], mut answer: Answer) -> Word {
    loop {
        answer = match answer {
            Answer::Return(word) => return word,
            Answer::Pass => return inside(|| function.call(arguments)),
            Answer::Call(call) => {
                let MpiCall { function: called, arguments, quiet, then } = *call;
                let word = inside(|| match quiet {
                    Some(file) => returning(file, || called.call(&arguments)),
                    None => called.call(&arguments),
                });
                caught(function, || then(word))
            }
            Answer::Raise { file, error, speaks } => {
                if speaks {
                    tributary::say(format_args!("{}: {error}", function.full_name()));
                }
                return raise(file, class(&error));
            }
            Answer::RaiseFirst { file, code, then } => {
                let code = raise(file, code);
                caught(function, || then(code))
            }
            Answer::Failed(raised, code) => {
                raised.into_iter().for_each(|raise| raise());
                return code;
            }
        }
    }
}

/// Returns an answer of this library's own work; a return code after a panic.
fn caught(function: &'static Function, work: impl FnOnce() -> Answer) -> Answer {
    own(function, || inside(work)).unwrap_or_else(Answer::Return)
}

/// Runs `call` such that its MPI calls go straight to MPI.
fn inside<T>(call: impl FnOnce() -> T) -> T {
    let _inside = Inside::begin();
    call()
}

/// Runs work of this library for a call of `function`. It calls no error handler of the program.
///
/// # Errors
/// A return code, after a panic. A panic ends the job, unless the environment says that the program gets an error; the other ranks
/// may then wait for ever.
pub fn own<T>(function: &Function, work: impl FnOnce() -> T) -> Result<T, Word> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let what = format!("{} panicked; please report it", function.full_name());
        let failed = alone::<()>(Err(Error::Internal { rank: 0, what }));
        to_word(failed.map_or_else(|error| class(&error), |()| constants().err_other))
    })
}

/// From now on this thread's MPI calls go straight to MPI: it is a thread of this library.
pub fn claim_thread() {
    INSIDE.set(true);
}

/// Returns true if this library is on: not with TRIB_DISABLE=1, nor under an MPI library with an unknown ABI.
fn is_on() -> bool {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ON.get_or_init(|| {
        let is_on = !is_disabled() && is_supported();
        if is_on && is_first_rank() {
            report::answer_page();
        }
        is_on
    })
}

fn is_disabled() -> bool {
    tributary::variable("TRIB_DISABLE").is_some_and(|value| !value.is_empty() && value != "0")
}
