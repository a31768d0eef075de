//! The entry of every interposed call: checks whether this library is on, and turns a handler's answer into a return code.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary::Error;
use tributary::engine::alone;
use tributary_abi::constants;

use crate::abi::errors::class;
use crate::abi::word::{Word, to_word};
use crate::next::Function;
use crate::report;
use crate::supported::{is_first_rank, is_supported};

/// A handler's answer to a call.
pub enum Answer {
    /// The MPI library's return value, or a return code.
    Return(Word),
    /// An error, for the error handler of this file.
    Raise {
        /// The file handle.
        file: Word,
        /// The error; the same on all ranks.
        error: Error,
        /// Whether this rank prints the error: MPI's error classes say little.
        speaks: bool,
    },
}

impl Answer {
    /// A return code.
    pub fn code(code: c_int) -> Self {
        Self::Return(to_word(code))
    }
}

/// Handles an interposed call of `function`.
pub type Handler = fn(function: &'static Function, arguments: &[Word]) -> Answer;

thread_local! {
    /// Set while this thread is inside a handler: calls from there go straight to MPI.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `handler`, unless this library is off or the call comes from inside another handler. Catches panics.
pub fn enter(function: &'static Function, arguments: &[Word], handler: Handler) -> Word {
    if !is_on() || INSIDE.replace(true) {
        return function.call(arguments);
    }
    let answer = catch_unwind(AssertUnwindSafe(|| handler(function, arguments)));
    INSIDE.set(false);
    match answer {
        Ok(Answer::Return(word)) => word,
        // After the handler, so that calls of the program's error handler are interposed too.
        Ok(Answer::Raise { file, error, speaks }) => {
            if speaks {
                tributary::say(format_args!("MPI_File_{}: {error}", function.name()));
            }
            raise(file, &error)
        }
        Err(_) => {
            let what = format!("MPI_File_{} panicked; please report it", function.name());
            // If the environment says so, the program gets an error, and the other ranks may wait for ever.
            let failed = alone::<()>(Err(Error::Internal { rank: 0, what }));
            to_word(failed.map_or_else(|error| class(&error), |()| constants().err_other))
        }
    }
}

/// From now on this thread's MPI calls go straight to MPI: it is a thread of this library.
pub fn claim_thread() {
    INSIDE.set(true);
}

/// Runs `call` inside a handler such that its MPI calls are interposed, as the program's are.
pub fn outside<T>(call: impl FnOnce() -> T) -> T {
    INSIDE.set(false);
    let value = call();
    INSIDE.set(true);
    value
}

/// Calls the error handler of an open file, which may not return, and returns the code.
pub fn raise(file: Word, error: &Error) -> Word {
    static CALL_ERRHANDLER: Function = Function::new("PMPI_File_call_errhandler\0");
    let code = to_word(class(error));
    CALL_ERRHANDLER.call(&[file, code]);
    code
}

/// Whether this library is on: not with TRIB_DISABLE=1, nor under an MPI library with an unknown ABI.
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
