//! The two groups of an inter-communicator as the ranks of one endpoint.
//!
//! A fabric has one numbering of ranks, and its ranks send inside a group too, which an inter-communicator cannot do.
//! So both groups are merged. In the merged order, the ranks of each group are consecutive.

use std::ops::Range;

use super::MPI_Comm;
use super::endpoint::{DEFAULT_CHUNK, MpiEndpoint};
use super::raw::Comm;
use crate::error::Result;
use crate::topology::Rank;

impl MpiEndpoint {
    /// Returns an endpoint over both groups of the inter-communicator `comm`, and the ranges of the two groups' ranks
    /// in the endpoint, the same on all ranks. `comm` itself is not used further. The ranks of a group keep their
    /// order. MPI chooses which group is first. Collective over both groups: one MPI_Intercomm_merge.
    ///
    /// # Errors
    /// An intra-communicator; [`crate::Error::Fabric`] with MPI's error text, if the error handler of `comm` returns.
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
