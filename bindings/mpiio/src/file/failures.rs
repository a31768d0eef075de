//! Failed calls on a file: counts them for the report, and decides which errors this rank prints.
//!
//! MPI returns codes of files by default (MPI_ERRORS_RETURN), and many programs ignore them; so a rank prints an error that
//! the engine reports, once for each function and error class. It prints nothing if the program itself set
//! MPI_ERRORS_RETURN for the file, because the program then asks for the code; and nothing about an error that a function
//! of MPI returned, which is not printed without this library either.

use std::collections::HashSet;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tributary::Error;
use tributary::error::FileOperation;

use crate::mpi::abi::errors::class;

/// True if the program has set MPI_ERRORS_RETURN on MPI_FILE_NULL, for the files that it opens later.
static RETURNS_BY_DEFAULT: AtomicBool = AtomicBool::new(false);

/// Records whether the program has set MPI_ERRORS_RETURN for the files that it opens later. Local.
pub fn set_default(returns: bool) {
    RETURNS_BY_DEFAULT.store(returns, Ordering::Relaxed);
}

/// The failed calls on one file, as the report shows them.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedCalls {
    /// Number of failed calls. A collective call counts once.
    pub calls: u64,
    /// First error of a kind (function and class) that this rank has not printed; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// The failed calls on one file, and the errors that this rank has printed.
#[derive(Debug)]
pub struct Failures {
    failed: FailedCalls,
    /// Name of the function and error class of each error that was printed.
    printed: HashSet<(&'static str, c_int)>,
    /// True if the program has set MPI_ERRORS_RETURN for the file.
    returns: bool,
}

impl Default for Failures {
    fn default() -> Self {
        let returns = RETURNS_BY_DEFAULT.load(Ordering::Relaxed);
        Self { failed: FailedCalls::default(), printed: HashSet::new(), returns }
    }
}

impl Failures {
    /// Records whether the program has set MPI_ERRORS_RETURN for the file.
    pub fn set_returning(&mut self, returns: bool) {
        self.returns = returns;
    }

    /// Counts a failed call of the MPI function `call`. Prints the error if it is due and this rank `prints` errors of the
    /// call.
    pub fn note(&mut self, call: &'static str, error: &Error, prints: bool) {
        self.failed.calls += 1;
        let (text, kind) = (format!("{call}: {error}"), (call, class(error)));
        if self.printed.contains(&kind) {
            return;
        }
        let is_of_mpi = matches!(error, Error::Io { operation: FileOperation::Mpi(_), .. });
        if prints && !self.returns && !is_of_mpi {
            tributary::say(&text);
            self.printed.insert(kind);
        } else {
            self.failed.first.get_or_insert(text);
        }
    }

    /// Returns the failed calls; None if no call has failed.
    pub fn failed(&self) -> Option<FailedCalls> {
        Some(self.failed.clone()).filter(|failed| failed.calls > 0)
    }
}
