//! What a collective call does, whoever waits for it: the engine opens the file if it must, then moves the bytes.

use std::ffi::c_int;

use tributary::engine::Direction;
use tributary::error::About;
use tributary::{BufferLayout, CallReport, Error, Extents, File, Sink, Source};

use crate::abi::MPI_Offset;
use crate::backend::Backend;
use crate::files::Shared;

/// What a call moves on this rank.
pub struct Access {
    /// In the file.
    pub file: Extents,
    /// Where it begins, in etypes; 0 of what moves nothing.
    pub offset: MPI_Offset,
    /// First byte in memory.
    pub memory: *mut u8,
    /// Bytes in memory, gaps included.
    pub span: usize,
    /// Where the bytes are in that span.
    pub layout: BufferLayout,
}

/// How a call ended that has not failed in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The engine has moved so many bytes of this rank.
    Moved(u64),
    /// MPI has run the call, well or badly.
    ByMpi {
        /// Bytes of this rank.
        bytes: u64,
        /// What MPI returned.
        code: c_int,
    },
    /// MPI is to run the call, on all ranks.
    Passed,
}

impl Ended {
    /// Bytes of this rank that were moved.
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Moved(bytes) | Self::ByMpi { bytes, .. } => bytes,
            Self::Passed => 0,
        }
    }
}

/// Why a rank takes no part in a call of the engine: MPI is to run the call.
const LEFT_TO_MPI: u32 = 1;

/// Likewise: the first rank has other hints. All ranks take them over, and begin the call again.
const OTHER_HINTS: u32 = 2;

/// An access that MPI knows how to move and the engine does not; why.
pub fn left_to_mpi(why: impl ToString) -> Error {
    Error::refused(LEFT_TO_MPI, why)
}

impl Backend {
    /// Moves the bytes, or takes part without when this rank's arguments are bad: `access` is then their error. Says in
    /// `counts` what the call named `name` did, or why MPI is to run it. `first` is the error of an attempt that was made before
    /// ([`transfer_now`]). Collective.
    ///
    /// # Errors
    /// Those of a call of the engine, the same on all ranks.
    ///
    /// # Safety
    /// The memory of `access`, where its layout says, is valid and nobody else's until the future has ended, for a read also
    /// to be written.
    pub async unsafe fn attempt(
        &mut self,
        direction: Direction,
        access: &Result<Access, Error>,
        name: &'static str,
        counts: &Shared,
        mut first: Option<Error>,
    ) -> Result<Ended, Error> {
        if self.is_to_start() {
            self.start().await?;
        }
        loop {
            let wants = self.wanted.is_some();
            let engine = match self.engine() {
                Ok(engine) => engine,
                Err(why) => {
                    counts.counts().passed(name, &why);
                    return Ok(Ended::Passed);
                }
            };
            let outcome = match access {
                _ if first.is_some() => first.take().map_or(Ok(0), Err),
                _ if wants => Err(engine.refuse_async(Error::refused(OTHER_HINTS, "other hints")).await),
                Err(error) => Err(engine.refuse_async(error.clone()).await),
                // SAFETY: the caller's promise.
                Ok(access) => unsafe {
                    transfer(direction, engine, access, |report| counts.counts().ran(name, report)).await
                },
            };
            match outcome {
                Ok(bytes) => return Ok(Ended::Moved(bytes)),
                Err(Error::Refused { reason: OTHER_HINTS, .. }) => self.apply().await?,
                Err(
                    Error::Refused { reason: LEFT_TO_MPI, why }
                    | Error::Argument { about: About::DeviceMemory, value: why, .. },
                ) => {
                    counts.counts().passed(name, &why);
                    return Ok(Ended::Passed);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Moves the bytes, and says how many. `note` is told what all ranks know of the call. Collective.
///
/// # Safety
/// That of [`Backend::attempt`].
async unsafe fn transfer(
    direction: Direction,
    engine: &mut File,
    access: &Access,
    note: impl Fn(&CallReport),
) -> Result<u64, Error> {
    let Access { file, memory, span, layout, .. } = access;
    match direction {
        Direction::Write => {
            // SAFETY: the caller's promise.
            let source = unsafe { Source::from_raw_parts(*memory, *span) };
            let report = engine.write_all_async(file, layout, source).await?;
            if engine.io_ranks().is_empty() {
                note(&report);
            } else {
                // MPI promises that bytes are in the file, and errors known, when the call ends.
                note(&engine.complete_write_async().await?.unwrap_or(report));
            }
            Ok(file.bytes())
        }
        Direction::Read => {
            // SAFETY: likewise.
            let sink = unsafe { Sink::from_raw_parts(*memory, *span) };
            let read = engine.read_all_async(file, layout, sink).await?;
            note(&read.call);
            Ok(read.bytes)
        }
    }
}

/// As [`transfer`], of a call that is waited for: no future stands between the caller and the engine. Collective.
///
/// # Errors
/// Those of a call of the engine, the same on all ranks, for [`Backend::attempt`] to go on with.
///
/// # Safety
/// That of [`Backend::attempt`].
pub unsafe fn transfer_now(
    direction: Direction,
    engine: &mut File,
    access: &Access,
    note: impl Fn(&CallReport),
) -> Result<u64, Error> {
    let Access { file, memory, span, layout, .. } = access;
    match direction {
        Direction::Write => {
            // SAFETY: the caller's promise.
            let source = unsafe { Source::from_raw_parts(*memory, *span) };
            let handed = engine.write_all_from(file, layout, source)?;
            note(&engine.complete_write()?.unwrap_or(handed));
            Ok(file.bytes())
        }
        Direction::Read => {
            // SAFETY: likewise.
            let sink = unsafe { Sink::from_raw_parts(*memory, *span) };
            let read = engine.read_all_into(file, layout, sink)?;
            note(&read.call);
            Ok(read.bytes)
        }
    }
}
