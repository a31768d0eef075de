//! The communicator for the engine's messages of a file: a duplicate over the file's ranks.
//!
//! Nearly all files are opened on MPI_COMM_WORLD or a duplicate of it. For these, opening makes no communicator: the first
//! collective call duplicates MPI_COMM_WORLD, which cannot be freed, and the duplicate is kept for the next file. Any other
//! communicator may be freed after the open, so the open duplicates it. If several threads of a rank may call MPI at once,
//! every open duplicates its communicator, because two threads must not duplicate MPI_COMM_WORLD at the same time. (All
//! ranks are assumed to have the same thread level.)

use std::sync::{Mutex, PoisonError};

use tributary::fabric::mpi::{ComingEndpoint, MpiEndpoint};
use tributary::{Endpoint, Error};

use crate::abi::{MPI_Comm, has_one_thread_at_a_time, is_congruent_to_world, world};

/// The communicator of a file, at some stage of being made.
pub enum Channel {
    /// All ranks of the program: MPI_COMM_WORLD, not yet duplicated.
    World,
    /// A duplicate of the file's own communicator.
    Own(Endpoint),
    /// A duplicate that MPI is still making.
    Coming(ComingEndpoint),
}

/// Unused endpoints over all ranks of the program. Every rank has the same list: all ranks of a file take and return an
/// endpoint together.
static IDLE: Mutex<Vec<Movable>> = Mutex::new(Vec::new());

struct Movable(Endpoint);

// SAFETY: nothing uses an endpoint in the list. All of it is `Send` by its types except the transport, which calls MPI; the
// thread that takes it out may call MPI, as for files (see `crate::files`).
unsafe impl Send for Movable {}

impl Channel {
    /// The channel of a file on `comm`. Collective over `comm`, unless its ranks are all ranks of the program.
    ///
    /// # Errors
    /// MPI's.
    ///
    /// # Safety
    /// MPI is initialised, and `comm` is an intracommunicator.
    pub unsafe fn on(comm: MPI_Comm) -> Result<Self, Error> {
        // SAFETY: the caller's promise.
        unsafe {
            if has_one_thread_at_a_time()? && is_congruent_to_world(comm)? {
                return Ok(Self::World);
            }
            Ok(Self::Own(Endpoint::new(Box::new(MpiEndpoint::from_raw(comm)?))))
        }
    }

    /// The means to talk. Collective, the first time for all ranks of the program.
    ///
    /// # Errors
    /// MPI's.
    pub fn open(self) -> Result<Endpoint, Error> {
        match self.start_to_open()? {
            Self::Own(endpoint) => Ok(endpoint),
            // MPI_Comm_idup, as on ranks that do not wait here: MPI_Comm_dup would not match it.
            Self::Coming(endpoint) => Ok(Endpoint::new(Box::new(endpoint.wait()?))),
            Self::World => Err(Error::Internal { rank: 0, what: "no communicator is being duplicated".to_string() }),
        }
    }

    /// Begins to make the endpoint, without waiting for other ranks. Collective; the first time over all ranks of the program.
    ///
    /// # Errors
    /// MPI's.
    pub fn start_to_open(self) -> Result<Self, Error> {
        match self.kept() {
            // SAFETY: a file is open, so MPI is initialised; MPI_COMM_WORLD lives until it is finalised.
            Self::World => Ok(Self::Coming(unsafe { MpiEndpoint::start_from_raw(world())? })),
            other => Ok(other),
        }
    }

    /// The endpoint, once it is made. Collective as [`Channel::open`].
    ///
    /// # Errors
    /// MPI's.
    pub async fn opened(self) -> Result<Endpoint, Error> {
        match self {
            Self::Coming(endpoint) => Ok(Endpoint::new(Box::new(endpoint.await?))),
            other => other.open(),
        }
    }

    /// Takes the endpoint of an earlier file, if this is for all ranks of the program.
    fn kept(self) -> Self {
        match self {
            Self::World => idle().pop().map_or(Self::World, |Movable(endpoint)| Self::Own(endpoint)),
            other => other,
        }
    }
}

/// Takes back the endpoint of a file, for the next file if it `is_kept`, which all ranks agreed on.
pub fn give_back(endpoint: Endpoint, is_kept: bool) {
    if is_kept {
        idle().push(Movable(endpoint));
    }
}

fn idle() -> std::sync::MutexGuard<'static, Vec<Movable>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}
