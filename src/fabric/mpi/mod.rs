//! The fabric of MPI programs: non-blocking MPI point-to-point messages. Messages are polled; a rank blocks in MPI on a
//! message only if nothing else can start before it and this MPI sleeps while it waits (`idle`).
//!
//! A program calls [`initialise`] and gets endpoints from the [`World`]. A library inside an MPI program makes
//! endpoints from the communicators it is given, with [`MpiEndpoint::from_raw`], or several from one with [`SharedComm`]. A program
//! that uses rsmpi (the crate `mpi`) makes them from any communicator of that crate, with `MpiEndpoint::from_communicator` (feature
//! `rsmpi`).
//!
//! MPI is called through its C interface, because every return code is checked and requests of all sizes are polled
//! together. Functions are found by name through `tributary_abi`, so a program or library runs under every MPI. Helper
//! threads of the library call no function of MPI (MPI_THREAD_FUNNELED is enough); a caller may poll a call from
//! several threads of the program.

mod endpoint;
mod idle;
mod raw;
#[cfg(feature = "rsmpi")]
mod rsmpi;
mod single;

use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::world::process::per_process;
use crate::world::{jobs, waits};
use endpoint::Tags;
use raw::Comm;

pub use endpoint::{DEFAULT_CHUNK, MpiEndpoint};
pub use raw::{error_text, quietly};
pub use single::SingleRank;
pub use tributary_abi::MPI_Comm;

/// Exit code of a rank that panics, the same as of any Rust program.
const PANICKED: i32 = 101;

/// Initialises MPI, unless it is initialised already. Collective over the program: every rank calls it.
///
/// A program that is not linked with an MPI library loads one first. This is the library that `$TRIB_MPI` names, or the
/// library of the launcher that started the program, if the dynamic linker or a folder beside `mpiexec` has it.
///
/// An MPI that is initialised here returns errors instead of aborting (MPI_ERRORS_RETURN on MPI_COMM_WORLD and
/// MPI_COMM_SELF). If the program has initialised MPI itself, its error handlers stay. MPICH calls the handler of
/// MPI_COMM_WORLD when a message is longer than its receive, which by default aborts the program.
///
/// # Errors
/// [`Error::Fabric`] when there is no MPI library, or one whose binary interface is not known; when MPI was already
/// finalised, or cannot start.
pub fn initialise() -> Result<World> {
    let mpi = tributary_abi::load().map_err(|error| Error::fabric(error.to_string()))?;
    if raw::is_finalised() {
        return Err(Error::fabric("MPI is finalised; it cannot be initialised a second time"));
    }
    let ours = !raw::is_initialised()?;
    if ours && !raw::init()? {
        tracing::warn!("this MPI does not grant MPI_THREAD_FUNNELED; helper threads run beside it all the same");
    }
    mpi.verify().map_err(|refusal| Error::fabric(refusal.to_string()))?;
    Ok(World { session: Rc::new(Session { ours }) })
}

/// Returns the reason why no endpoint can be made from the communicator `comm`; `None` if one can. Local.
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

/// Returns name and version of the MPI library that this program runs on, such as `MPICH Version: 4.0.2`. Empty if no
/// MPI library is loaded (yet). Local; may be called at any time.
pub fn library() -> String {
    raw::version().into_iter().next().unwrap_or_default()
}

/// Returns the short form of [`library`]: `MPICH Version: 4.0.2`, `Open MPI v4.1.4`. Local; may be called at any time.
pub fn name() -> String {
    library().split(", ").next().unwrap_or_default().trim().to_string()
}

/// Returns the device that carries the messages of this MPI library, such as `ch3:sock`. Only MPICH and its derivatives
/// report it. Local; may be called at any time.
pub fn device() -> Option<String> {
    raw::version().iter().find_map(|line| line.strip_prefix("MPICH Device:").map(|device| device.trim().to_string()))
}

/// Exit code of a job that [`end_job`] ends, or a caller of [`abort`].
pub const FAILED: i32 = 70;

/// Ends all ranks of the program with `code`: MPI_Abort on MPI_COMM_WORLD. MPI is initialised. Local.
pub fn abort(code: i32) -> ! {
    raw::abort(code)
}

/// Writes `why` to standard error and ends all ranks of the program: MPI_Abort on MPI_COMM_WORLD. It is for a failure
/// that the other ranks do not know of. Only this process ends if MPI is not running. Local.
pub fn end_job(why: &Error) {
    crate::say(format_args!(
        "{why}; this rank cannot inform the other ranks, so it ends the job (hint trib_on_failure=abort)"
    ));
    if !is_running() {
        std::process::exit(FAILED);
    }
    // Some launchers lose output that is still on its way when a rank ends the job.
    waits::sleep(std::time::Duration::from_millis(100));
    raw::abort(FAILED)
}

/// Environment variables in which launchers set the number of ranks and the rank of the process.
const LAUNCHED: [[&str; 2]; 2] = [["PMI_SIZE", "PMI_RANK"], ["OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"]];

/// Warns once, on the launcher's first rank, if MPI_COMM_WORLD has one rank although the launcher has started several
/// processes: each process would write the whole file.
fn warn_of_another_launcher() {
    per_process! {
        static WARNED: std::sync::Once = std::sync::Once::new();
    }
    WARNED.call_once(|| {
        let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
        let started = |[size, rank]: &[&'static str; 2]| Some((*size, number(size).filter(|&of| of > 1)?, number(rank)?));
        if let Some((name, size, 0)) = LAUNCHED.iter().find_map(started)
            && raw::world_ranks().is_ok_and(|ranks| ranks == 1)
        {
            crate::say(format_args!(
                "each of {size} processes is alone in its MPI_COMM_WORLD ({name}={size}): the launcher is for another MPI \
                 library; use the mpiexec of {}",
                library()
            ));
        }
    });
}

/// Returns true if MPI is initialised and not finalised. Local.
pub fn is_running() -> bool {
    raw::is_initialised().unwrap_or(false) && !raw::is_finalised()
}

/// All ranks of an MPI program.
///
/// If [`initialise`] initialised MPI, MPI is finalised when the world and the endpoints made from it are dropped. If a
/// panic drops the world, all ranks are aborted, so that no rank waits for a rank that has ended.
pub struct World {
    session: Rc<Session>,
}

impl World {
    /// Returns an endpoint over all ranks, in a communication context of its own. Collective.
    ///
    /// # Errors
    /// [`Error::Fabric`] with MPI's error text.
    pub fn endpoint(&self) -> Result<MpiEndpoint> {
        self.endpoint_with_chunk(DEFAULT_CHUNK)
    }

    /// Returns an endpoint like [`World::endpoint`], with MPI messages of at most `chunk` bytes (1 to 2^31 - 1, the
    /// same on all ranks).
    ///
    /// # Errors
    /// A chunk out of range, or [`Error::Fabric`] with MPI's error text.
    pub fn endpoint_with_chunk(&self, chunk: usize) -> Result<MpiEndpoint> {
        // SAFETY: MPI is initialised on this thread (`World` is not `Send`). If the program initialised it, it may be
        // finalised by now: then MPI returns an error.
        let endpoint = unsafe { MpiEndpoint::from_raw_with_chunk(raw::world(), chunk)? };
        Ok(endpoint.holding(self.session.clone()))
    }

    /// Ends all ranks with MPI_Abort; the launcher returns `code`. For a rank that cannot continue while others wait
    /// for it. Local.
    pub fn abort(&self, code: i32) -> ! {
        raw::abort(code)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if jobs::is_panicking() {
            raw::abort(PANICKED);
        }
    }
}

/// Finalises MPI when the last owner drops this value.
struct Session {
    ours: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        if jobs::is_panicking() {
            raw::abort(PANICKED);
        }
        if self.ours && !raw::is_finalised() {
            raw::finalise();
        }
    }
}

/// Number of tags of each endpoint for messages. Further chunks of long messages have the same number of tags.
const TAGS: c_int = 128;

/// A communicator of this library that several endpoints share, so that many files need only one communicator: MPI libraries have
/// some 2,000, of which each open file takes one for MPI itself. The endpoints have tags of their own, so their messages cannot
/// match. The communicator is freed when this value and its endpoints are dropped, unless messages may still be in flight.
#[derive(Clone)]
pub struct SharedComm(Arc<Comm>);

impl SharedComm {
    /// Duplicates `comm`, which itself is not used. Collective over its ranks: one MPI_Comm_dup.
    ///
    /// # Errors
    /// [`Error::Fabric`] with MPI's error text. The error handler of `comm` is not called.
    ///
    /// # Safety
    /// MPI is initialised. `comm` is a valid intracommunicator. The thread is one that may call MPI.
    pub unsafe fn duplicate_of(comm: MPI_Comm) -> Result<Self> {
        // SAFETY: the caller's promise is the same.
        Ok(Self(Arc::new(unsafe { Comm::duplicate_of(comm)? })))
    }

    /// Returns true if this communicator has the ranks of `comm` in the same order; false if MPI cannot compare them.
    /// Local.
    ///
    /// # Safety
    /// The same as for [`SharedComm::duplicate_of`].
    pub unsafe fn has_ranks_of(&self, comm: MPI_Comm) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.0.has_ranks_of(comm) }.unwrap_or(false)
    }

    /// Returns the endpoint with this number, from 0 on. Local; every rank makes one with the same number, and never
    /// two at a time.
    ///
    /// # Errors
    /// [`Error::Argument`] if MPI has no tags for a number so high.
    pub fn endpoint(&self, number: usize) -> Result<MpiEndpoint> {
        let most = self.0.highest_tag / (2 * TAGS);
        match c_int::try_from(number) {
            Ok(number) if number < most => {
                let tags = Tags { first: number * 2 * TAGS, count: TAGS };
                Ok(MpiEndpoint::with(self.0.clone(), tags, DEFAULT_CHUNK, None))
            }
            _ => Err(Error::argument("number of an endpoint of a communicator", number, format!("below {most}"))),
        }
    }
}
