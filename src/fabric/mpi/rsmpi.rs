//! Endpoints from communicators of rsmpi (the crate `mpi`), for programs that use rsmpi.

use std::mem::size_of;

use rsmpi::traits::Communicator;
use tributary_abi::Width;

use super::{MPI_Comm, MpiEndpoint, objection, raw};
use crate::error::{Error, Result};

impl MpiEndpoint {
    /// Returns an endpoint over the ranks of a communicator of rsmpi, in their order. Collective over `comm`: every
    /// rank of `comm` calls this.
    ///
    /// ```ignore
    /// let endpoint = Endpoint::new(Box::new(MpiEndpoint::from_communicator(&universe.world())?));
    /// let mut file = File::open(endpoint, path, Mode::Create, Hints::default())?;
    /// file.write_all(&extents, &BufferLayout::Contiguous, &data)?;
    /// ```
    ///
    /// `examples/rsmpi` in the repository has the whole program, which is compiled and run with every change.
    ///
    /// **What is duplicated.** `comm` itself stays the program's: it is duplicated once (MPI_Comm_dup), so no message
    /// of the program matches a message of the library. The duplicate returns errors (MPI_ERRORS_RETURN) whatever
    /// handler `comm` has.
    ///
    /// **When it is freed.** The duplicate is freed when the endpoint is dropped, or when the file that was opened with
    /// the endpoint is closed or dropped. Freeing is collective, like MPI_Comm_free: every rank drops it. `comm` may be
    /// gone by then.
    ///
    /// **If MPI is finalised first.** Close files before the `Universe` is dropped. After that, the library calls MPI no
    /// more, and every call on the endpoint returns [`Error::Fabric`]. A collective call on a file can then no longer inform
    /// the other ranks, so it ends the process with that error (with the hint `trib_on_failure=return`, it returns the error
    /// instead). Dropping is harmless.
    ///
    /// rsmpi is compiled for one MPI library; the MPI library of the process must have handles of the same size.
    ///
    /// # Errors
    /// [`Error::Argument`] if MPI is not initialised, or is finalised; for an inter-communicator; on a thread that may
    /// not call MPI (below MPI_THREAD_SERIALIZED, as after rsmpi's `initialize`: any thread but the one that
    /// initialised MPI). [`Error::Fabric`] if the process has another kind of MPI library than rsmpi was compiled for,
    /// or with MPI's error text.
    pub fn from_communicator<C: Communicator + ?Sized>(comm: &C) -> Result<Self> {
        let handle = comm.as_raw();
        check_width(size_of_val(&handle))?;
        // SAFETY: a handle of rsmpi's, as wide as those of the process's MPI library.
        let handle = unsafe { MPI_Comm::at((&raw const handle).cast()) };
        // SAFETY: while `comm` is borrowed it is a communicator, if MPI is still there.
        let objection = unsafe { objection(handle) };
        let objection = match objection {
            None if !raw::is_callable_here()? => Some("used on a thread that may not call MPI".to_string()),
            other => other,
        };
        if let Some(what) = objection {
            let allowed = "an intracommunicator, before MPI_Finalize, on the thread that initialised MPI, or on any from \
                           MPI_THREAD_SERIALIZED on";
            return Err(Error::argument("communicator", what, allowed));
        }
        // SAFETY: there is no objection: MPI is initialised, the communicator is valid, and the thread may call MPI.
        unsafe { Self::from_raw(handle) }
    }
}

/// Checks that handles of `bytes` bytes are handles of the process's MPI library.
fn check_width(bytes: usize) -> Result<()> {
    let mpi = tributary_abi::find().map_err(|refusal| Error::fabric(refusal.to_string()))?;
    let own = match mpi.abi.width() {
        Width::Narrow => size_of::<i32>(),
        Width::Wide => size_of::<usize>(),
    };
    if own == bytes {
        return Ok(());
    }
    let library = mpi.path().display();
    Err(Error::fabric(format!(
        "rsmpi was compiled for an MPI library whose handles have {bytes} bytes; those of {library} have {own}"
    )))
}
