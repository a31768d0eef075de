//! Where the engine's messages of a file go: a communicator of our own over the file's ranks.
//!
//! Files are opened on MPI_COMM_WORLD, or on duplicates of it, nearly always. For those nothing is made when a file is
//! opened, and what the first collective call made is kept for the next file: MPI_COMM_WORLD cannot be freed. Any other
//! communicator may be freed behind the open, so it is duplicated there; and so is every one where several threads of a
//! rank may call MPI at once, since two of them must not duplicate MPI_COMM_WORLD side by side. (All ranks are taken to have
//! the same level of threads.)

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tributary::fabric::mpi::MpiEndpoint;
use tributary::{Endpoint, Error};

use crate::abi::{MPI_Comm, has_one_thread_at_a_time, is_congruent_to_world, world};

/// How a file's ranks will talk.
pub enum Channel {
    /// As all ranks of the program.
    World,
    /// By themselves.
    Own(Endpoint),
    /// By themselves, when the communicator is there.
    Coming(Coming),
}

/// A communicator that MPI is making.
type Coming = Pin<Box<dyn Future<Output = Result<MpiEndpoint, Error>>>>;

/// Endpoints over all ranks that no file uses. All ranks have the same, since files start and end their use of one together.
static IDLE: Mutex<Vec<Movable>> = Mutex::new(Vec::new());

struct Movable(Endpoint);

// SAFETY: an endpoint in the list is used by nobody. All of it is `Send` by its types but the transport, which calls MPI: MPI
// may be called by the thread that takes it out, as for files (see `crate::files`).
unsafe impl Send for Movable {}

impl Channel {
    /// For a file on `comm`. Collective over it, unless its ranks are those of the program.
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
        let mut endpoint = match self.start_to_open()? {
            Self::Own(endpoint) => return Ok(endpoint),
            // The same function of MPI as on ranks that do not wait here: MPI_Comm_dup does not match MPI_Comm_idup.
            Self::Coming(endpoint) => endpoint,
            Self::World => return Err(Error::Internal { rank: 0, what: "no communicator is being made".to_string() }),
        };
        loop {
            if let Poll::Ready(endpoint) = endpoint.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return Ok(Endpoint::new(Box::new(endpoint?)));
            }
            std::thread::yield_now();
        }
    }

    /// Begins to get the means to talk, without waiting for other ranks. Collective, the first time for all ranks of the
    /// program.
    ///
    /// # Errors
    /// MPI's.
    pub fn start_to_open(self) -> Result<Self, Error> {
        match self.kept() {
            // SAFETY: a file is open, so MPI is initialised; MPI_COMM_WORLD lives until it is finalised.
            Self::World => Ok(Self::Coming(Box::pin(unsafe { MpiEndpoint::start_from_raw(world())? }))),
            other => Ok(other),
        }
    }

    /// The means to talk, when they are there. Collective as [`Channel::open`].
    ///
    /// # Errors
    /// MPI's.
    pub async fn opened(self) -> Result<Endpoint, Error> {
        match self {
            Self::Coming(endpoint) => Ok(Endpoint::new(Box::new(endpoint.await?))),
            other => other.open(),
        }
    }

    /// Takes what an earlier file has left, if this is for all ranks.
    fn kept(self) -> Self {
        match self {
            Self::World => idle().pop().map_or(Self::World, |Movable(endpoint)| Self::Own(endpoint)),
            other => other,
        }
    }
}

/// Takes back what a file has used, for the next one, if it `is_kept`: all ranks agreed on that.
pub fn give_back(endpoint: Endpoint, is_kept: bool) {
    if is_kept {
        idle().push(Movable(endpoint));
    }
}

fn idle() -> std::sync::MutexGuard<'static, Vec<Movable>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}
