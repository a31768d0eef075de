//! Fabrics: carry the messages of a schedule between ranks.
//!
//! A fabric is a [`Transport`]: it posts sends and receives, and reports completions. [`execute`] runs a schedule over
//! any fabric. In [`threads`], ranks are threads of one process; in [`mpi`], ranks are MPI processes. Fabrics contain
//! no algorithm.

mod buffers;
pub mod execute;
pub mod mpi;
pub mod pool;
pub mod shared;
pub mod threads;
pub mod transport;
pub(crate) mod waiting;

pub use buffers::Buffers;
pub use execute::{Endpoint, InFlight, Memory, Traffic, on_a_sending_thread, send_nothing_here};
pub use transport::{Completion, Idle, Message, Ticket, Transport};
pub use waiting::{FailureHandling, Pending, Quiet, Stop, Waiting};
