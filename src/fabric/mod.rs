//! Executors: what carries the messages of a schedule.
//!
//! A fabric is a [`Transport`] (post a send, post a receive, ask what is finished); [`run`] drives a schedule over any
//! of them. `threads` needs nothing; `mpi` (feature `mpi`) is the real one. Fabrics contain no algorithm.

#[cfg(feature = "mpi")]
pub mod mpi;
pub mod transport;

pub use transport::{Completion, Idle, Message, Ticket, Transport};
