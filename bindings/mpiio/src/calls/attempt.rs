//! The work of a collective call, blocking or not: the engine opens the file if necessary, then moves the bytes.

use std::ffi::c_int;

use tributary::engine::Direction;
use tributary::error::IoClass;
use tributary::{CallReport, Error, File};
use tributary_bindings::access::Access;

use crate::backend::Backend;
use crate::files::Shared;
use crate::next::Function;

/// The result of a call that did not fail in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The engine has moved this number of bytes of this rank.
    Moved(u64),
    /// MPI has run the call, with success or an error.
    ByMpi {
        /// Bytes of this rank that were moved.
        bytes: u64,
        /// The code that MPI returned.
        code: c_int,
    },
    /// MPI must run the call, on all ranks.
    LeftToMpi,
}

impl Ended {
    /// Returns the number of bytes of this rank that were moved.
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Moved(bytes) | Self::ByMpi { bytes, .. } => bytes,
            Self::LeftToMpi => 0,
        }
    }
}

/// An error that stands for a reason to leave the call to MPI, on all ranks.
const LEFT_TO_MPI: u32 = 1;

/// An error that stands for new hints on the first rank: all ranks apply them and start the call again.
const OTHER_HINTS: u32 = 2;

/// The reason why only MPI, not the engine, can move this access, as an error.
pub fn left_to_mpi(why: impl ToString) -> Error {
    Error::refused(LEFT_TO_MPI, why)
}

impl Backend {
    /// Moves the bytes. If this rank's arguments are bad, `access` is the error, and the rank takes part without data.
    /// Records in `counts`, for the call of `function`, what was done or why MPI must run it. `first` is the error of an
    /// earlier attempt, which called the engine without a future; `ends` says that the caller waits for the end of this one.
    /// Collective.
    ///
    /// # Errors
    /// The errors of a call of the engine, the same on all ranks.
    ///
    /// # Safety
    /// The memory that the layout of `access` lists is valid for reads (of a read call: for writes) and not used by anything
    /// else until the future has ended. If it `ends`, the future is polled to its end.
    pub async unsafe fn attempt(
        &mut self,
        direction: Direction,
        access: &Result<Access, Error>,
        function: &'static Function,
        counts: &Shared,
        mut first: Option<Error>,
        ends: bool,
    ) -> Result<Ended, Error> {
        let name = function.name();
        if self.is_to_start() {
            self.start(function).await?;
        }
        loop {
            let wants = self.wanted.is_some();
            let engine = match self.engine() {
                Ok(engine) => engine,
                Err(why) => {
                    counts.counts().left_to_mpi(name, &why);
                    return Ok(Ended::LeftToMpi);
                }
            };
            engine.call_them(function.full_name());
            let outcome = match access {
                _ if first.is_some() => first.take().map_or(Ok(0), Err),
                _ if wants => {
                    Err(engine.refuse_async(direction, Error::refused(OTHER_HINTS, "the hints changed")).await)
                }
                Err(error) => Err(engine.refuse_async(direction, error.clone()).await),
                // SAFETY: the caller's promise.
                Ok(access) => unsafe {
                    transfer(direction, engine, access, |report| counts.counts().ran(name, report), ends).await
                },
            };
            match outcome {
                Ok(bytes) => return Ok(Ended::Moved(bytes)),
                Err(Error::Refused { reason: OTHER_HINTS, .. }) => self.apply().await?,
                Err(Error::Refused { reason: LEFT_TO_MPI, why, .. }) => {
                    counts.counts().left_to_mpi(name, &why);
                    return Ok(Ended::LeftToMpi);
                }
                // MPI may still manage: it has its file open already.
                Err(error @ Error::Io { class: IoClass::UsedUp, .. }) if is_of_opening(&error) => {
                    counts.counts().left_to_mpi(name, &error.to_string());
                    self.give_up(&error).await?;
                    return Ok(Ended::LeftToMpi);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns true if an error is one of a file that could not be opened, so that nothing was read or written through it.
fn is_of_opening(error: &Error) -> bool {
    matches!(error, Error::Io { operation, .. } if operation == "open")
}

/// As [`Access::transfer`], for a call that other calls of the rank go on beside. Collective.
///
/// # Safety
/// The requirements of [`Backend::attempt`].
async unsafe fn transfer(
    direction: Direction,
    engine: &mut File,
    access: &Access,
    note: impl Fn(&CallReport),
    ends: bool,
) -> Result<u64, Error> {
    match direction {
        Direction::Write => {
            // SAFETY: the caller's promise.
            let source = unsafe { access.source() };
            let report = match ends {
                // SAFETY: the caller's promise.
                true => unsafe { engine.write_all_to_end(&access.file, &access.layout, source) }.await,
                false => engine.write_all_async(&access.file, &access.layout, source).await,
            };
            note(&report?);
            Ok(access.bytes())
        }
        Direction::Read => {
            // SAFETY: likewise.
            let sink = unsafe { access.sink() };
            let read = engine.read_all_async(&access.file, &access.layout, sink).await?;
            note(&read.call);
            Ok(read.bytes)
        }
    }
}
