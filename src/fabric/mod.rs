//! Fabrics: carry the messages of a schedule between ranks.
//!
//! A fabric is a [`Transport`]: it posts sends and receives of non-blocking messages with owned bodies, and reports completions.
//! [`execute`] runs a schedule over any fabric. In [`threads`], ranks are threads of one process; in [`mpi`], ranks are MPI
//! processes. Fabrics contain no algorithm.

mod buffers;
pub mod execute;
pub mod mpi;
pub mod pool;
pub mod shared;
pub mod threads;
pub(crate) mod waiting;

use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::schedule::SendMode;
use crate::topology::Rank;

pub use buffers::Buffers;
pub use execute::{Endpoint, InFlight, Memory, Traffic, forbid_mpi_here, until_mpi_thread};
pub use waiting::{FailureHandling, Pending, Quiet, Stop, Waiting};

/// The body of a message. Clones share the bytes.
pub type Message = Bytes;

/// Identifies a posted send or receive of one transport until it completes. Tickets are not reused while in flight.
pub type Ticket = u64;

/// A finished send or receive.
#[derive(Debug)]
pub struct Completion {
    /// Ticket of the send or receive.
    pub ticket: Ticket,
    /// The received message; `None` for a send.
    pub message: Option<Message>,
}

/// One rank's connection to all other ranks: a communication context of its own, never shared with the application.
///
/// Only [`Transport::wait`] may block, and [`Transport::duplicate`], which is collective. All other calls are local.
/// Messages match by (sender, receiver, tag) in the order they were posted. A message has up to 2^63 - 1 bytes. The
/// transport owns the bodies in flight, so it may be dropped at any time: it keeps (or leaks) memory that the network
/// may still access.
pub trait Transport {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> Rank;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Returns a label of the node that this rank runs on: ranks with equal labels can share memory. (The label is not
    /// the number of a node.)
    fn node_label(&self) -> usize;

    /// Returns true if ranks of one host use shared memory if no hint says otherwise. False for ranks that simulate
    /// ranks on several hosts, as threads do.
    fn shares_memory(&self) -> bool;

    /// Returns true if the body of a message is dropped when its send completes, so that it may lie in the caller's
    /// memory. False for ranks that pass bodies on, as threads do.
    fn sends_in_place(&self) -> bool {
        false
    }

    /// Lets the fabric progress messages while this rank waits for something else.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken, or another rank has died.
    fn progress(&mut self) -> Result<()>;

    /// Posts a send. `tag` is below 2^15 (the minimum that MPI guarantees).
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken.
    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket>;

    /// Posts a receive of at most `capacity` bytes; the message may be shorter.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken.
    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket>;

    /// Makes progress, and appends the sends and receives that have completed since the last call.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken, a message was longer than its receive's capacity, or another
    /// rank has died.
    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()>;

    /// Blocks inside the fabric until a part of `ticket`'s message is sent or received, and appends completions. A
    /// fabric in which polling is better returns at once.
    ///
    /// # Errors
    /// The errors of [`Transport::poll`].
    fn wait(&mut self, ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        let _ = (ticket, done);
        Ok(())
    }

    /// Returns the wait of a rank with nothing to do.
    fn idle(&self) -> Arc<dyn Idle>;

    /// Returns a function that stops this fabric for all ranks: afterwards no rank waits for another. It may end the
    /// process.
    fn stop(&self) -> Stop;

    /// Returns a transport over the same ranks with a context of its own, so that the messages of two files cannot
    /// match. Collective: all ranks call it, in the same order.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken.
    fn duplicate(&mut self) -> Result<Box<dyn Transport>>;
}

/// The wait of a rank with nothing to do. Shared between the rank, which waits, and its helper threads, which wake it.
pub trait Idle: Send + Sync {
    /// Returns when a message for this rank may have arrived, after [`Idle::wake`], or after a short time. `rounds`
    /// counts the calls without progress, for fabrics that back off.
    fn idle(&self, rounds: u32);

    /// Ends the current or the next [`Idle::idle`] at once. Any thread may call it.
    fn wake(&self);

    /// Sets whether the ranks of this host share cores; the default is that they do. For fabrics that poll
    /// repeatedly.
    fn set_crowded(&self, _crowded: bool) {}
}
