//! Does the work of a collective read or write, blocking or not: lets the engine open the file if necessary, then
//! move the bytes.

use std::ffi::c_int;
use std::pin::pin;

use tributary::access::{Access, OwnedAccess};
use tributary::engine::binding::{self, Asked, Moved};
use tributary::error::{FileOperation, IoClass};
use tributary::{CallReport, Error};

use crate::file::backend::{Backend, Runner};
use crate::file::files::SharedFile;
use crate::mpi::next::{Form, InterposedFunction};

/// Result of a collective read or write that did not fail in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The engine ran the call and moved this number of bytes for this rank.
    Moved(u64),
    /// MPI ran the call, with success or an error.
    ByMpi {
        /// Number of bytes that were moved for this rank.
        bytes: u64,
        /// The code that MPI returned.
        code: c_int,
    },
    /// The engine cannot run the call; MPI must run it, on all ranks.
    LeftToMpi,
}

impl Ended {
    /// Returns the number of bytes that were moved for this rank.
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Moved(bytes) | Self::ByMpi { bytes, .. } => bytes,
            Self::LeftToMpi => 0,
        }
    }
}

/// Code of an error which means that MPI must run the call on all ranks.
const LEFT_TO_MPI: u32 = 1;

/// Code of an error which means that the first rank has new hints: all ranks apply the hints and repeat the call.
const OTHER_HINTS: u32 = 2;

/// Returns an error that makes all ranks leave the call to MPI. `why` says why the engine cannot move this access.
pub fn left_to_mpi(why: impl ToString) -> Error {
    Error::refused(LEFT_TO_MPI, why)
}

impl Backend {
    /// Makes a blocking collective call of `function`, of the form `form`, and waits until it has ended. If this rank's
    /// arguments are bad, `access` is the error, and the rank takes part without data. Records in `counts` what was done, or
    /// why MPI must run the call. Collective.
    ///
    /// # Errors
    /// The engine's error; all ranks get the same.
    pub fn transfer(
        &mut self,
        form: Form,
        access: &mut Result<OwnedAccess<'_>, Error>,
        function: &'static InterposedFunction,
        counts: &SharedFile,
    ) -> Result<Ended, Error> {
        let name = function.name();
        let mut first = None;
        if self.wanted.is_none()
            && let (Ok(file), Ok(access)) = (self.engine(), &mut *access)
        {
            binding::call_as(file, function.full_name(), form.ending);
            let outcome = binding::transfer(file, Asked::new(access.lent()));
            self.promise();
            match outcome {
                Ok(Moved { bytes, report }) => {
                    counts.counts().ran(name, &report);
                    return Ok(Ended::Moved(bytes));
                }
                Err(error) => first = Some(error),
            }
        }
        match self.waiting() {
            // SAFETY: the future is polled to its end.
            Some(waiting) => waiting.wait(pin!(unsafe { self.attempt(form, access, function, counts, first, true) })),
            None => {
                counts.left_to_mpi(name, &self.engine().err().unwrap_or_default());
                Ok(Ended::LeftToMpi)
            }
        }
    }

    /// Makes a collective call like [`Backend::transfer`], as a future. If an earlier attempt has called the engine without a
    /// future, `first` is its error. `ends` is true if the caller polls this future to its end. Collective.
    ///
    /// # Errors
    /// The errors of a call of the engine, the same on all ranks.
    ///
    /// # Safety
    /// If it `ends`, the future is polled to its end.
    pub async unsafe fn attempt(
        &mut self,
        form: Form,
        access: &mut Result<OwnedAccess<'_>, Error>,
        function: &'static InterposedFunction,
        counts: &SharedFile,
        mut first: Option<Error>,
        ends: bool,
    ) -> Result<Ended, Error> {
        let (name, direction) = (function.name(), form.direction);
        if self.is_to_start() {
            if let Ok(access) = access
                && let Some(moved) = self.transfer_of_single_rank(access.lent(), || counts.wait_for_writes(|| None))
            {
                let (bytes, report) = moved?;
                counts.counts().ran(name, &report);
                return Ok(Ended::Moved(bytes));
            }
            self.start(function).await?;
        }
        loop {
            let wants = self.wanted.is_some();
            let engine = match self.engine() {
                Ok(engine) => engine,
                Err(why) => {
                    counts.left_to_mpi(name, &why);
                    return Ok(Ended::LeftToMpi);
                }
            };
            binding::call_as(engine, function.full_name(), form.ending);
            let asked = match access {
                _ if wants => Asked::refusal(direction, Error::refused(OTHER_HINTS, "the hints changed")),
                Err(error) => Asked::refusal(direction, error.clone()),
                // SAFETY: the caller's promise.
                Ok(access) if ends => unsafe { Asked::new(access.lent()).polled_to_end() },
                Ok(access) => Asked::new(access.lent()),
            };
            let outcome = match first.take() {
                Some(error) => Err(error),
                None => binding::transfer_async(engine, asked).await,
            };
            self.promise();
            match outcome {
                Ok(Moved { bytes, report }) => {
                    counts.counts().ran(name, &report);
                    return Ok(Ended::Moved(bytes));
                }
                Err(Error::Refused { reason: OTHER_HINTS, .. }) => self.apply().await?,
                Err(Error::Refused { reason: LEFT_TO_MPI, why, .. }) => {
                    counts.left_to_mpi(name, &why);
                    return Ok(Ended::LeftToMpi);
                }
                // The engine could not open the file and has moved nothing. MPI may still be able to run the call, because
                // it has its file open already.
                Err(error @ Error::Io { operation: FileOperation::Open, class: IoClass::UsedUp, .. }) => {
                    counts.left_to_mpi(name, &error.to_string());
                    self.give_up(&error).await?;
                    return Ok(Ended::LeftToMpi);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Moves the bytes of a collective call without the engine, if the file has a single rank, the engine has not opened it
    /// and can gain nothing. Otherwise returns None, and nothing has happened. Calls `before` before the file is accessed.
    /// Local.
    ///
    /// # Errors
    /// An error of the system.
    fn transfer_of_single_rank(
        &mut self,
        access: Access<'_>,
        before: impl FnOnce(),
    ) -> Option<Result<(u64, CallReport), Error>> {
        let (single, Runner::NotOpened(unopened)) = (self.single.as_mut()?, &self.runner) else { return None };
        single.transfer(access, (&self.path, unopened.hints_of_single_rank()?), unopened.has_all_ranks, before)
    }
}
