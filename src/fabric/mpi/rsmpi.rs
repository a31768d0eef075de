//! Communicators of rsmpi, the crate `mpi`: a program that has its own rsmpi world writes files with it.

use std::mem::size_of;

use rsmpi::traits::Communicator;
use tributary_abi::Width;

use super::{MPI_Comm, MpiEndpoint, objection, raw};
use crate::error::{Error, Result};

impl MpiEndpoint {
    /// An endpoint over the ranks of a communicator of rsmpi, in their order. Collective over `comm`: every rank of it calls
    /// this.
    ///
    /// ```ignore
    /// let endpoint = Endpoint::new(Box::new(MpiEndpoint::from_communicator(&universe.world())?));
    /// let mut file = File::open(endpoint, path, Mode::Create, Hints::default())?;
    /// file.write_all(&extents, &BufferLayout::Contiguous, &data)?;
    /// ```
    ///
    /// `examples/rsmpi` in the repository is the whole program, which is compiled and run with every change.
    ///
    /// **What is duplicated.** `comm` itself stays the program's: it is duplicated once (MPI_Comm_dup), so no message of the
    /// program meets one of the library's. The duplicate returns errors (MPI_ERRORS_RETURN) whatever handler `comm` has.
    ///
    /// **When it is freed.** The duplicate is freed when the endpoint is dropped, or the file that was opened with it is
    /// closed or dropped. Freeing is collective, as all of MPI_Comm_free: every rank drops it. `comm` may be gone by then.
    ///
    /// **If MPI is finalised first.** Close files before the `Universe` is dropped. MPI is not called any more after that: every
    /// call on the endpoint is [`Error::Fabric`], and a collective call of a file, which can no longer tell the other ranks,
    /// ends the process with that error (hint `trib_on_failure=return` gives it back instead). Dropping is harmless.
    ///
    /// rsmpi is compiled for one MPI library; that of the process must have handles as wide.
    ///
    /// # Errors
    /// [`Error::Argument`] where MPI is not initialised, or is finalised; for an inter-communicator; on a thread that
    /// may not call MPI: below MPI_THREAD_SERIALIZED, which rsmpi's `initialize` stays, that is any but the one that initialised
    /// it. [`Error::Fabric`] where the process has another kind of MPI library than rsmpi was compiled for, and in MPI's words.
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
        // SAFETY: nothing is to be said against it: MPI is initialised, the communicator one of its own, and the thread may
        // call MPI.
        unsafe { Self::from_raw(handle) }
    }
}

/// Whether handles of so many bytes are those of the process's MPI library.
fn check_width(bytes: usize) -> Result<()> {
    let mpi = tributary_abi::find().map_err(|refusal| Error::Fabric(refusal.to_string()))?;
    let own = match mpi.abi.width() {
        Width::Narrow => size_of::<i32>(),
        Width::Wide => size_of::<usize>(),
    };
    if own == bytes {
        return Ok(());
    }
    let library = mpi.path().display();
    Err(Error::Fabric(format!(
        "rsmpi was compiled for an MPI library whose handles have {bytes} bytes; those of {library} have {own}"
    )))
}
