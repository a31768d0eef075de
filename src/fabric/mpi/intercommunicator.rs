//! Two groups that an inter-communicator connects, as the ranks of one endpoint.
//!
//! A fabric has one numbering of ranks, and an allgather inside a group sends within it, which an inter-communicator
//! cannot. So both groups are merged; who is in which follows from the order, which keeps each group's ranks in a row.

use std::ops::Range;

use super::MPI_Comm;
use super::endpoint::{DEFAULT_CHUNK, MpiEndpoint};
use super::raw::Comm;
use crate::error::Result;
use crate::topology::Rank;

impl MpiEndpoint {
    /// An endpoint over both groups of the inter-communicator `comm`, which itself stays untouched, and the ranks of
    /// the two groups there, in the order that they have in their groups; equal on all ranks. Which group comes first
    /// is MPI's choice. Collective over both groups: one MPI_Intercomm_merge, and what [`MpiEndpoint::from_raw`] does
    /// inside nodes.
    ///
    /// # Errors
    /// An intra-communicator; [`crate::Error::Fabric`] in MPI's words, where the error handler of `comm` lets it
    /// return.
    ///
    /// # Safety
    /// MPI is initialised. `comm` is a valid communicator. The thread is one that may call MPI.
    pub unsafe fn from_intercommunicator(comm: MPI_Comm) -> Result<(Self, [Range<Rank>; 2])> {
        // SAFETY: the caller's promise.
        let (comm, first) = unsafe { Comm::merged_from(comm)? };
        let groups = [0..first, first..comm.ranks];
        Ok((Self::over(comm, DEFAULT_CHUNK, None), groups))
    }
}
