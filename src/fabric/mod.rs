//! Executors: what carries the messages of a schedule.
//!
//! A fabric is a [`Transport`] (post a send, post a receive, ask what is finished); [`execute`] drives a schedule over
//! any of them. [`threads`] needs nothing; `mpi` (feature `mpi`) is the real one. Fabrics contain no algorithm.

mod agreements;
mod buffers;
pub mod execute;
mod failure;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod pool;
pub mod shared;
pub mod threads;
pub mod transport;
pub(crate) mod waiting;

pub use agreements::Agreements;
pub use buffers::Buffers;
pub use execute::{Endpoint, Memory, Traffic};
pub use failure::{Failure, Stop};
pub use transport::{Completion, Idle, Message, Ticket, Transport};
pub use waiting::{Quiet, Waiting};
