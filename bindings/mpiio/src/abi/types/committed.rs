//! Finds out whether a datatype is committed. MPI has no function for this, but MPI_Send_init refuses a datatype that
//! is not committed. So a send is prepared, and never started.

use std::ffi::c_int;
use std::sync::OnceLock;

use tributary::Error;
use tributary_abi::{self as ffi, MPI_Comm, constants, handles};

use super::super::{MPI_Datatype, SUCCESS, check, is_world_there};

/// Returns true if `datatype`, which must not be predefined, is committed. Local. Also returns true if MPI does not
/// check its arguments, or if the program uses MPI only through sessions, so that no communicator is there for the
/// test.
///
/// # Errors
/// Any error of the MPI library.
pub fn is_committed(datatype: MPI_Datatype) -> Result<bool, Error> {
    if !is_world_there()? {
        return Ok(true);
    }
    let (comm, mut request) = (returning()?, handles().request_null);
    let to = constants().proc_null;
    // MPICH checks the datatype of one element or more, which have an address.
    let buffer = (&raw const comm).cast();
    // SAFETY: nothing is sent, so the buffer is not read; MPI checks the datatype; a handle is written.
    let code = unsafe { ffi::MPI_Send_init(buffer, 1, datatype, to, 0, comm, &mut request) };
    let mut class = code;
    if code != SUCCESS {
        // SAFETY: a code of MPI's; writes one int.
        unsafe { ffi::MPI_Error_class(code, &mut class) };
        return if class == constants().err_type { Ok(false) } else { check("MPI_Send_init", code).map(|()| true) };
    }
    // SAFETY: the request that was just made, freed once.
    check("MPI_Request_free", unsafe { ffi::MPI_Request_free(&mut request) }).map(|()| true)
}

/// Returns a private communicator of this process alone, with MPI_ERRORS_RETURN, for [`is_committed`]. The first call
/// creates it. (The error handler of MPI_COMM_SELF may end the program.)
fn returning() -> Result<MPI_Comm, Error> {
    static MADE: OnceLock<Result<MPI_Comm, Error>> = OnceLock::new();
    let make = || {
        let mut comm = handles().comm_null;
        // SAFETY: MPI is initialised, as the caller has asked; a handle is written.
        check("MPI_Comm_dup", unsafe { ffi::MPI_Comm_dup(handles().comm_self, &mut comm) })?;
        // SAFETY: the communicator that was just made.
        let code: c_int = unsafe { ffi::MPI_Comm_set_errhandler(comm, handles().errors_return) };
        check("MPI_Comm_set_errhandler", code).map(|()| comm)
    };
    MADE.get_or_init(make).clone()
}
