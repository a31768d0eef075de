//! The two groups of an inter-communicator as the ranks of one endpoint.
//!
//! A fabric has one numbering of ranks, and its ranks send inside a group too, which an inter-communicator cannot do.
//! So both groups are merged. In the merged order, the ranks of each group are consecutive.

use std::ops::Range;

use tributary::fabric::Transport;
use tributary::fabric::mpi::MpiEndpoint;
use tributary::{Error, Rank};
use tributary_abi::{self as ffi, MPI_Comm, handles};

use super::{check, functions};

/// Returns an endpoint over both groups of the inter-communicator `comm`, and the ranges of the two groups' ranks
/// in the endpoint, the same on all ranks. `comm` itself is not used further. The ranks of a group keep their
/// order. MPI chooses which group is first. Collective over both groups: MPI_Intercomm_merge and MPI_Comm_dup.
///
/// # Errors
/// An intra-communicator; [`Error::Fabric`] with MPI's error text, if the error handler of `comm` returns.
///
/// # Safety
/// MPI is initialised. `comm` is a valid communicator. The thread is one that may call MPI.
pub unsafe fn merged_endpoint(comm: MPI_Comm) -> Result<(MpiEndpoint, [Range<Rank>; 2]), Error> {
    let (mut is_inter, mut rank, mut local, mut remote) = (0, 0, 0, 0);
    // SAFETY: the caller vouches for `comm`; writes one int.
    check("MPI_Comm_test_inter", unsafe { ffi::MPI_Comm_test_inter(comm, &mut is_inter) })?;
    if is_inter == 0 {
        return Err(Error::argument("communicator", "an intra-communicator", "an inter-communicator"));
    }
    // SAFETY: a valid inter-communicator; each writes one int.
    unsafe {
        check("MPI_Comm_rank", ffi::MPI_Comm_rank(comm, &mut rank))?;
        check("MPI_Comm_size", ffi::MPI_Comm_size(comm, &mut local))?;
        check("MPI_Comm_remote_size", functions::MPI_Comm_remote_size(comm, &mut remote))?;
    }
    let mut merged = handles().comm_null;
    // SAFETY: a valid inter-communicator. Both groups pass `high` = 0, so MPI chooses their order.
    check("MPI_Intercomm_merge", unsafe { functions::MPI_Intercomm_merge(comm, 0, &mut merged) })?;
    // SAFETY: a valid intracommunicator, and the caller's promises.
    let endpoint = unsafe { MpiEndpoint::from_raw(merged) };
    // SAFETY: our own handle, freed once; no message was sent on it.
    check("MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&mut merged) })?;
    let endpoint = endpoint?;
    let first = (if endpoint.rank() == rank as Rank { local } else { remote }) as usize;
    let ranks = endpoint.ranks();
    Ok((endpoint, [0..first, first..ranks]))
}
