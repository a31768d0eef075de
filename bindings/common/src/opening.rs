//! Opens files: makes the endpoint of the program's communicator, and distributes terms that one rank decides for
//! all; the error of a file that was opened for reading only.

use std::path::Path;

use tributary::collectives::broadcast;
use tributary::engine::binding::abort_job_on_error;
use tributary::error::{FileOperation, IoCause, IoClass};
use tributary::fabric::mpi::{MPI_Comm, MpiEndpoint, objection};
use tributary::wire::{self, Wire};
use tributary::{Endpoint, Error, File, Result};

/// Returns an endpoint on a duplicate of the program's communicator. Collective. `argument` is the communicator's
/// name in errors.
///
/// # Errors
/// The communicator is no intracommunicator, or MPI is not initialised: an error on this rank only. Or an error of MPI.
///
/// # Safety
/// If MPI is initialised, `comm` is a communicator or MPI_COMM_NULL. The caller's thread may call MPI, and the
/// endpoint is dropped before MPI is finalised.
pub unsafe fn endpoint_on(comm: MPI_Comm, argument: &str) -> Result<Endpoint> {
    let comm = comm.as_given();
    // SAFETY: the caller's promise.
    if let Some(objection) = unsafe { objection(comm) } {
        let allowed = "an intracommunicator, between MPI_Init and MPI_Finalize";
        return Err(Error::argument(argument, objection, allowed));
    }
    // SAFETY: a communicator, while MPI is initialised; otherwise the caller's promise.
    Ok(Endpoint::new(Box::new(abort_job_on_error(unsafe { MpiEndpoint::from_raw(comm) })?)))
}

/// Returns on all ranks the value that `decide` returns on rank `root`; the other ranks do not call `decide`. `what`
/// names the value in errors. Collective: a broadcast.
///
/// # Errors
/// An error of the fabric; or the value was damaged on its way.
pub async fn decided_by<T: Wire>(
    endpoint: &mut Endpoint,
    root: usize,
    decide: impl FnOnce() -> T,
    what: &str,
) -> Result<T> {
    let own = match endpoint.rank() == root {
        true => wire::to_bytes(&decide()),
        false => Vec::new(),
    };
    let received = broadcast(endpoint, root, &own).await?;
    let damaged = || Error::internal(endpoint.rank(), format!("{what} were not received"));
    wire::from_bytes(&received).ok_or_else(damaged)
}

/// Returns the error for a write to a file that was opened for reading only. `with` is the flag of the open, such as O_RDONLY.
pub fn only_read(file: &mut File, path: &Path, with: &str) -> Error {
    Error::Io {
        rank: file.endpoint().rank(),
        operation: FileOperation::Write,
        path: path.display().to_string(),
        offset: None,
        class: IoClass::ReadOnly,
        cause: IoCause::from_text(format!("the file was opened with {with}")),
    }
}
