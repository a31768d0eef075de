//! The handles, constants and simple functions of the MPI library that this crate uses.
//!
//! [`tributary_abi`], which knows the three binary interfaces of MPI, looks them up in the library that the process
//! has loaded.
//!
//! | module | holds |
//! |---|---|
//! | [`errors`] | classes of errors |
//! | [`types`] | how datatypes were made, and values kept on them |
//! | [`status`] | filling a status; the null request |

use std::ffi::c_int;

pub mod errors;
pub mod status;
pub mod types;

pub use tributary_abi::{MPI_Comm, MPI_Datatype, MPI_Info, MPI_Offset, MPI_Request, MPI_Status, SUCCESS, word};

pub use tributary_bindings::communicator::{check, has_one_thread_at_a_time, is_congruent_to_world, is_world_there};

use tributary_abi::{self as ffi, handles};

/// Returns true if `comm` is an intracommunicator, not MPI_COMM_NULL.
///
/// # Safety
/// `comm` is MPI_COMM_NULL or a communicator, and MPI is initialised.
pub unsafe fn is_intracommunicator(comm: MPI_Comm) -> bool {
    let mut inter = 0;
    // SAFETY: a communicator, as the caller promises.
    unsafe { comm != handles().comm_null && ffi::MPI_Comm_test_inter(comm, &mut inter) == SUCCESS && inter == 0 }
}

/// Returns true if MPI_COMM_WORLD exists and has `count` ranks. Local. The caller has initialised MPI, or a session.
pub fn has_all_ranks(count: usize) -> bool {
    // SAFETY: there is an MPI_COMM_WORLD.
    is_world_there().unwrap_or(false) && unsafe { ranks(handles().comm_world) } as usize == count
}

/// Returns this process's rank in `comm`.
///
/// # Safety
/// The requirements of [`is_congruent_to_world`].
pub unsafe fn rank(comm: MPI_Comm) -> c_int {
    let mut rank: c_int = 0;
    // SAFETY: a communicator; writes one int.
    unsafe { ffi::MPI_Comm_rank(comm, &mut rank) };
    rank
}

/// Returns the number of processes in `comm`.
///
/// # Safety
/// The requirements of [`is_congruent_to_world`].
pub unsafe fn ranks(comm: MPI_Comm) -> c_int {
    let mut ranks: c_int = 0;
    // SAFETY: a communicator; writes one int.
    unsafe { ffi::MPI_Comm_size(comm, &mut ranks) };
    ranks
}
