//! The fabric of supercomputers: MPI point-to-point messages, started, polled, and waited for inside MPI where one of them
//! must come first and MPI sleeps meanwhile (`sleeping`).
//!
//! A program calls [`initialise`] and asks the [`World`] for endpoints. A library that lives inside somebody else's MPI
//! program makes endpoints from the communicators it is given, with [`MpiEndpoint::from_raw`]. A program that uses rsmpi (the
//! crate `mpi`) makes them from any communicator of that crate, with `MpiEndpoint::from_communicator` (feature `rsmpi`).
//!
//! MPI is called through its C interface, because every return code must be looked at and requests of all sizes must be
//! polled together: by name, through `tributary_abi`, so that a program or library runs under every MPI. Only the rank's own thread calls it (MPI_THREAD_FUNNELED); helper threads never do.

use std::rc::Rc;

use crate::error::{Error, Result};

mod endpoint;
mod flight;
mod idle;
mod intercommunicator;
mod native;
mod raw;
mod requests;
#[cfg(feature = "rsmpi")]
mod rsmpi;
mod sleeping;

pub use endpoint::{DEFAULT_CHUNK, MpiEndpoint};
pub use native::Native;
pub use tributary_abi::MPI_Comm;

/// What a rank that panics returns to the launcher, as a Rust program does.
const PANICKED: i32 = 101;

/// Initialises MPI, unless somebody else has. Collective over the program: every rank calls it.
///
/// A program that is linked with no MPI library gets one first: that of `$TRIB_MPI`, or the one that belongs to the launcher
/// which started it, where the dynamic linker or a folder beside `mpiexec` has it.
///
/// An MPI that is initialised here returns errors instead of aborting (MPI_ERRORS_RETURN on MPI_COMM_WORLD and
/// MPI_COMM_SELF). In somebody else's MPI program those handlers stay as they are, and MPICH asks the one of
/// MPI_COMM_WORLD when a message does not fit its receive: by default it then aborts the program.
///
/// # Errors
/// [`Error::Fabric`] when there is no MPI library, or one whose binary interface is not known; when MPI was already
/// finalised, or cannot start.
pub fn initialise() -> Result<World> {
    let mpi = tributary_abi::load().map_err(|error| Error::Fabric(error.to_string()))?;
    if raw::is_finalised() {
        return Err(Error::Fabric("MPI was finalised before; it cannot be initialised again".to_string()));
    }
    let ours = !raw::is_initialised()?;
    if ours && !raw::init()? {
        tracing::warn!("this MPI does not grant MPI_THREAD_FUNNELED; helper threads run beside it all the same");
    }
    mpi.verify().map_err(|refusal| Error::Fabric(refusal.to_string()))?;
    Ok(World { session: Rc::new(Session { ours }) })
}

/// What is to be said against making an endpoint from the communicator that a program gives; None when nothing is. Local.
///
/// # Safety
/// `comm` is a communicator or MPI_COMM_NULL, if the process has an MPI library and has initialised it.
pub unsafe fn objection(comm: MPI_Comm) -> Option<String> {
    let mpi = match tributary_abi::find() {
        Ok(mpi) => mpi,
        Err(refusal) => return Some(refusal.to_string()),
    };
    if !raw::is_initialised().unwrap_or(false) {
        return Some("MPI is not initialised".to_string());
    }
    if raw::is_finalised() {
        return Some("MPI is finalised".to_string());
    }
    if let Err(refusal) = mpi.verify() {
        return Some(refusal.to_string());
    }
    if comm == tributary_abi::handles().comm_null {
        return Some("MPI_COMM_NULL".to_string());
    }
    // SAFETY: the caller's promise.
    match unsafe { raw::is_intercommunicator(comm) } {
        Ok(false) => None,
        Ok(true) => Some("an intercommunicator".to_string()),
        Err(_) => Some("not a communicator".to_string()),
    }
}

/// The name and version of the MPI library that this program runs on, as in `MPICH Version: 4.0.2`.
/// Callable at any time; empty where there is none (yet).
pub fn library() -> String {
    raw::library()
}

/// What a rank returns to the launcher that ends the job over `why`.
const FAILED: i32 = 70;

/// Says `why` on standard error and ends all ranks of the program: MPI_Abort on MPI_COMM_WORLD. For a failure that the
/// other ranks cannot be told of, and would wait for. MPI is initialised; where it was finalised, only this process ends.
pub fn end_job(why: &Error) {
    eprintln!("tributary: {why}; the other ranks cannot be told, so the job ends (hint trib_on_failure=abort)");
    if !is_running() {
        std::process::exit(FAILED);
    }
    // Some launchers drop what is on its way when a rank ends the job.
    std::thread::sleep(std::time::Duration::from_millis(100));
    raw::abort(FAILED)
}

/// Whether MPI is initialised, and not finalised. Not collective.
pub fn is_running() -> bool {
    raw::is_initialised().unwrap_or(false) && !raw::is_finalised()
}

/// All ranks of an MPI program.
///
/// MPI is finalised when the world and the endpoints made from it are gone, if [`initialise`] initialised it. A world
/// that is dropped by a panic aborts all ranks: nobody waits for a rank that is gone.
pub struct World {
    session: Rc<Session>,
}

impl World {
    /// An endpoint over all ranks, in a communication context of its own. Collective.
    ///
    /// # Errors
    /// [`Error::Fabric`] in MPI's words.
    pub fn endpoint(&self) -> Result<MpiEndpoint> {
        self.endpoint_with_chunk(DEFAULT_CHUNK)
    }

    /// As [`World::endpoint`], with MPI messages of at most `chunk` bytes, `1..=2^31 - 1`, the same on all ranks.
    ///
    /// # Errors
    /// A chunk out of range, or [`Error::Fabric`] in MPI's words.
    pub fn endpoint_with_chunk(&self, chunk: usize) -> Result<MpiEndpoint> {
        // SAFETY: MPI is initialised on this thread (`World` is not `Send`). If it was not initialised here, it may be gone
        // by now: then MPI says so.
        let endpoint = unsafe { MpiEndpoint::from_raw_with_chunk(raw::world(), chunk)? };
        Ok(endpoint.holding(self.session.clone()))
    }

    /// Ends all ranks at once; the launcher returns `code`. For a rank that cannot go on while others wait for it.
    pub fn abort(&self, code: i32) -> ! {
        raw::abort(code)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            raw::abort(PANICKED);
        }
    }
}

/// Finalises MPI when its last owner is gone.
struct Session {
    ours: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        if std::thread::panicking() {
            raw::abort(PANICKED);
        }
        if self.ours && !raw::is_finalised() {
            raw::finalise();
        }
    }
}
