//! Finds out whether a communicator has all ranks of the program, and which threads may call MPI.

use std::ffi::c_int;

use tributary::fabric::mpi::MPI_Comm;
use tributary::{Error, Result};
use tributary_abi::{self as ffi, SUCCESS, constants, handles};

/// Returns true if MPI_COMM_WORLD and MPI_COMM_SELF exist. They do not in a program that uses MPI only through
/// sessions. Local.
///
/// # Errors
/// Any error of the MPI library.
pub fn is_world_there() -> Result<bool> {
    let (mut is_begun, mut is_over): (c_int, c_int) = (0, 0);
    // SAFETY: callable at any time; writes one int.
    check("MPI_Initialized", unsafe { ffi::MPI_Initialized(&mut is_begun) })?;
    // SAFETY: callable at any time; writes one int.
    check("MPI_Finalized", unsafe { ffi::MPI_Finalized(&mut is_over) })?;
    Ok(is_begun != 0 && is_over == 0)
}

/// Returns true if `comm` has the ranks of MPI_COMM_WORLD in the same order. Local. False if MPI_COMM_WORLD does not
/// exist.
///
/// # Errors
/// Any error of the MPI library.
///
/// # Safety
/// `comm` is an intracommunicator, and MPI is initialised, or a session of it.
pub unsafe fn is_congruent_to_world(comm: MPI_Comm) -> Result<bool> {
    if !is_world_there()? {
        return Ok(false);
    }
    let mut how: c_int = 0;
    // SAFETY: two communicators; writes one int.
    let code = unsafe { ffi::MPI_Comm_compare(comm, handles().comm_world, &mut how) };
    check("MPI_Comm_compare", code).map(|()| [constants().ident, constants().congruent].contains(&how))
}

/// Returns true if only one thread at a time may call MPI: the thread level is below MPI_THREAD_MULTIPLE.
///
/// # Errors
/// Any error of the MPI library.
pub fn has_one_thread_at_a_time() -> Result<bool> {
    let mut level: c_int = 0;
    // SAFETY: MPI is initialised, as a file is open; writes one int.
    let code = unsafe { ffi::MPI_Query_thread(&mut level) };
    check("MPI_Query_thread", code).map(|()| level != constants().thread_multiple)
}

/// Returns true if nobody else in the program can call MPI while the ranks of `comm` are in a blocking call: `comm`
/// has all ranks, and each has one thread at a time. Local. False if MPI does not answer.
///
/// # Safety
/// The requirements of [`is_congruent_to_world`].
pub unsafe fn has_the_whole_program(comm: MPI_Comm) -> bool {
    // SAFETY: the caller's promise.
    has_one_thread_at_a_time().unwrap_or(false) && unsafe { is_congruent_to_world(comm) }.unwrap_or(false)
}

/// Turns the return code of the MPI function `call` into a result.
pub fn check(call: &str, code: c_int) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(Error::fabric(format!("{call}: MPI error code {code}"))) }
}
