//! What every interposed call goes through: whether this library is on at all, and what a handler's answer becomes.

use std::cell::Cell;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary::Error;
use tributary::engine::alone;

use crate::abi::errors::Class;
use crate::abi::word::{Word, to_word};
use crate::next::Function;
use crate::supported::is_supported;

/// How a call ends.
pub enum Answer {
    /// The MPI library's answer, or a return code.
    Return(Word),
    /// An error, which the error handler of this file handle is to hear of.
    Raise {
        /// The handle.
        file: Word,
        /// The error; the same on all ranks.
        error: Error,
        /// Whether this is the rank that tells people: MPI's error classes say little.
        speaks: bool,
    },
}

impl Answer {
    /// A return code.
    pub fn code(code: c_int) -> Self {
        Self::Return(to_word(code))
    }
}

/// Takes an interposed call: `function` is what was called.
pub type Handler = fn(function: &'static Function, arguments: &[Word]) -> Answer;

thread_local! {
    /// Set while this thread is inside of a handler: what MPI calls from there is MPI's own affair.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `handler`, unless this library is off, or the call comes from inside of another. A panic ends here.
pub fn enter(function: &'static Function, arguments: &[Word], handler: Handler) -> Word {
    if !is_on() || INSIDE.replace(true) {
        return function.call(arguments);
    }
    let answer = catch_unwind(AssertUnwindSafe(|| handler(function, arguments)));
    INSIDE.set(false);
    match answer {
        Ok(Answer::Return(word)) => word,
        // Outside, so that what the program's error handler calls is taken like any call.
        Ok(Answer::Raise { file, error, speaks }) => {
            if speaks {
                eprintln!("tributary: MPI_File_{}: {error}", function.name());
            }
            raise(file, &error)
        }
        Err(_) => {
            let what = format!("MPI_File_{} panicked; please report it", function.name());
            // Where the environment says so, the program gets an error, and the other ranks may wait for ever.
            let failed = alone::<()>(Err(Error::Internal { rank: 0, what }));
            to_word(failed.map_or_else(|error| Class::of(&error).number(), |()| Class::Other.number()))
        }
    }
}

/// What this thread calls of MPI is MPI's own affair from here on: it is a thread of this library.
pub fn claim_thread() {
    INSIDE.set(true);
}

/// Lets `call` call MPI as the program does, from inside of a handler.
pub fn outside<T>(call: impl FnOnce() -> T) -> T {
    INSIDE.set(false);
    let value = call();
    INSIDE.set(true);
    value
}

/// Calls the error handler of an open file, which may not come back, and returns the code.
pub fn raise(file: Word, error: &Error) -> Word {
    static CALL_ERRHANDLER: Function = Function::new("PMPI_File_call_errhandler\0");
    let code = to_word(Class::of(error).number());
    CALL_ERRHANDLER.call(&[file, code]);
    code
}

/// Whether calls are to be looked at at all: not with TRIB_DISABLE=1, nor under an MPI of an unknown interface.
fn is_on() -> bool {
    static ON: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ON.get_or_init(|| !is_disabled() && is_supported())
}

fn is_disabled() -> bool {
    std::env::var("TRIB_DISABLE").is_ok_and(|value| !matches!(value.as_str(), "" | "0"))
}
