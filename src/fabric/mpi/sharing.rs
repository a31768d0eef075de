//! A communicator of this library that several endpoints share, so that many files need only one communicator.
//!
//! MPI libraries have some 2,000 communicators, of which each open file takes one for MPI itself. The endpoints of a
//! shared communicator have tags of their own, so their messages cannot match.

use std::ffi::c_int;
use std::sync::Arc;

use super::MPI_Comm;
use super::endpoint::{DEFAULT_CHUNK, MpiEndpoint, Tags};
use super::raw::Comm;
use crate::error::{Error, Result};

/// Number of tags of each endpoint for messages; as many more are for further chunks of long messages.
const TAGS: c_int = 128;

/// A communicator that several endpoints share. It is freed when this value and its endpoints are dropped, unless
/// messages may still be in flight.
#[derive(Clone)]
pub struct SharedComm(Arc<Comm>);

impl SharedComm {
    /// Duplicates `comm`, which itself is not used. Collective over its ranks: one MPI_Comm_dup.
    ///
    /// # Errors
    /// [`Error::Fabric`] with MPI's error text. The error handler of `comm` is not called.
    ///
    /// # Safety
    /// MPI is initialised. `comm` is a valid intracommunicator. The thread is one that may call MPI.
    pub unsafe fn duplicate_of(comm: MPI_Comm) -> Result<Self> {
        // SAFETY: the caller's promise is the same.
        Ok(Self(Arc::new(unsafe { Comm::duplicate_of(comm)? })))
    }

    /// Returns true if this communicator has the ranks of `comm` in the same order; false if MPI cannot compare them.
    /// Local.
    ///
    /// # Safety
    /// The same as for [`SharedComm::duplicate_of`].
    pub unsafe fn has_ranks_of(&self, comm: MPI_Comm) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.0.has_ranks_of(comm) }.unwrap_or(false)
    }

    /// Returns the endpoint with this number, from 0 on. Local; every rank makes one with the same number, and never
    /// two at a time.
    ///
    /// # Errors
    /// [`Error::Argument`] if MPI has no tags for a number so high.
    pub fn endpoint(&self, number: usize) -> Result<MpiEndpoint> {
        let most = self.0.highest_tag / (2 * TAGS);
        match c_int::try_from(number) {
            Ok(number) if number < most => {
                let tags = Tags { first: number * 2 * TAGS, count: TAGS };
                Ok(MpiEndpoint::with(self.0.clone(), tags, DEFAULT_CHUNK, None))
            }
            _ => Err(Error::argument("number of an endpoint of a communicator", number, format!("below {most}"))),
        }
    }
}
