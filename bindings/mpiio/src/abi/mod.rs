//! What this crate uses of the MPI library: handles, constants and simple functions.
//!
//! All of it is looked up in the process's MPI library by [`tributary_abi`], which knows the three binary interfaces.
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

use tributary::Error;
use tributary_abi::{self as ffi, constants, handles};

/// Whether `comm` is an intracommunicator, not MPI_COMM_NULL.
///
/// # Safety
/// `comm` is MPI_COMM_NULL or a communicator, and MPI is initialised.
pub unsafe fn is_intracommunicator(comm: MPI_Comm) -> bool {
    let mut inter = 0;
    // SAFETY: a communicator, as the caller promises.
    unsafe { comm != handles().comm_null && ffi::MPI_Comm_test_inter(comm, &mut inter) == SUCCESS && inter == 0 }
}

/// MPI_COMM_WORLD.
pub fn world() -> MPI_Comm {
    handles().comm_world
}

/// Whether there are MPI_COMM_WORLD and MPI_COMM_SELF: not in a program that uses MPI only through sessions. Local.
///
/// # Errors
/// MPI's.
pub fn is_world_there() -> Result<bool, Error> {
    let (mut is_begun, mut is_over): (c_int, c_int) = (0, 0);
    // SAFETY: callable at any time; writes one int.
    check("MPI_Initialized", unsafe { ffi::MPI_Initialized(&mut is_begun) })?;
    // SAFETY: likewise.
    check("MPI_Finalized", unsafe { ffi::MPI_Finalized(&mut is_over) })?;
    Ok(is_begun != 0 && is_over == 0)
}

/// Whether `comm` has the ranks of MPI_COMM_WORLD in the same order. Local. False where there is no MPI_COMM_WORLD.
///
/// # Errors
/// MPI's.
///
/// # Safety
/// `comm` is an intracommunicator, and MPI is initialised, or a session of it.
pub unsafe fn is_congruent_to_world(comm: MPI_Comm) -> Result<bool, Error> {
    if !is_world_there()? {
        return Ok(false);
    }
    let mut how: c_int = 0;
    // SAFETY: two communicators; writes one int.
    let code = unsafe { ffi::MPI_Comm_compare(comm, world(), &mut how) };
    check("MPI_Comm_compare", code).map(|()| [constants().ident, constants().congruent].contains(&how))
}

/// Whether so many ranks are all of MPI_COMM_WORLD, if there is one. Local. MPI is initialised, or a session of it.
pub fn has_all_ranks(count: usize) -> bool {
    // SAFETY: there is an MPI_COMM_WORLD.
    is_world_there().unwrap_or(false) && unsafe { ranks(world()) } as usize == count
}

/// This process's rank in `comm`.
///
/// # Safety
/// As [`is_congruent_to_world`].
pub unsafe fn rank(comm: MPI_Comm) -> c_int {
    let mut rank: c_int = 0;
    // SAFETY: a communicator; writes one int.
    unsafe { ffi::MPI_Comm_rank(comm, &mut rank) };
    rank
}

/// The number of processes in `comm`.
///
/// # Safety
/// As [`is_congruent_to_world`].
pub unsafe fn ranks(comm: MPI_Comm) -> c_int {
    let mut ranks: c_int = 0;
    // SAFETY: a communicator; writes one int.
    unsafe { ffi::MPI_Comm_size(comm, &mut ranks) };
    ranks
}

/// Whether only one thread at a time may call MPI: its thread level is below MPI_THREAD_MULTIPLE.
///
/// # Errors
/// MPI's.
pub fn has_one_thread_at_a_time() -> Result<bool, Error> {
    let mut level: c_int = 0;
    // SAFETY: MPI is initialised, as a file is open; writes one int.
    let code = unsafe { ffi::MPI_Query_thread(&mut level) };
    check("MPI_Query_thread", code).map(|()| level != constants().thread_multiple)
}

/// Turns the return code of `call` into a result.
pub fn check(call: &str, code: c_int) -> Result<(), Error> {
    if code == SUCCESS { Ok(()) } else { Err(Error::Fabric(format!("{call}: MPI error code {code}"))) }
}
