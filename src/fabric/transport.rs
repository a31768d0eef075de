//! What a fabric offers to the executor: non-blocking messages with owned bodies.

use std::sync::Arc;

use bytes::Bytes;

use super::failure::Stop;
use crate::error::Result;
use crate::schedule::SendMode;
use crate::topology::Rank;

/// The body of a message.
pub type Message = Bytes;

/// Names one posted send or receive of one transport until it completes. Tickets are not reused while in flight.
pub type Ticket = u64;

/// A finished send or receive.
#[derive(Debug)]
pub struct Completion {
    /// Which.
    pub ticket: Ticket,
    /// The body, for a receive.
    pub message: Option<Message>,
}

/// One rank's end of a fabric: a communication context of its own, never shared with the application.
///
/// Calls other than [`Transport::wait`] never block. Messages match by (sender, receiver, tag) in the order they were
/// posted; a body of any size up to 2^63 - 1 bytes is one message. Bodies are owned by the transport while in flight, so a
/// transport dropped in the middle is safe: it keeps (or leaks) what the network may still touch.
pub trait Transport {
    /// This rank.
    fn rank(&self) -> Rank;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// A label of the node this rank runs on: ranks with equal labels can share memory. (Not a node's number.)
    fn node_label(&self) -> usize;

    /// Whether ranks of one host are to use shared memory where hints leave it open: not where the ranks are a stand-in
    /// for ranks elsewhere, as threads are.
    fn shares_memory(&self) -> bool;

    /// Lets the fabric deliver what other ranks wait for, while this one waits for something that is not a message.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken, or another rank has died.
    fn progress(&mut self) -> Result<()>;

    /// Posts a send. `tag` is below 2^15 (the least that MPI grants).
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken.
    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket>;

    /// Posts a receive of at most `capacity` bytes; what arrives may be shorter.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken.
    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket>;

    /// Makes progress and appends what has completed since the last call.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken, a message was longer than its receive's capacity, or another
    /// rank has died.
    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()>;

    /// Waits inside the fabric until a part of `ticket`'s message has gone or come, and appends what has then completed.
    /// A fabric that is better polled returns at once, with nothing.
    ///
    /// # Errors
    /// Those of [`Transport::poll`].
    fn wait(&mut self, ticket: Ticket, done: &mut Vec<Completion>) -> Result<()> {
        let _ = (ticket, done);
        Ok(())
    }

    /// How a rank with nothing to do gives the core away.
    fn idle(&self) -> Arc<dyn Idle>;

    /// What stops this fabric for all ranks, for good: afterwards no rank waits for another. It may end the process.
    fn stop(&self) -> Stop;

    /// A further context over the same ranks, so that two files never mix their messages.
    /// Collective: all ranks call it, in the same order on each.
    ///
    /// # Errors
    /// [`crate::Error::Fabric`] when the fabric is broken.
    fn duplicate(&mut self) -> Result<Box<dyn Transport>>;
}

/// Waiting without spinning. Shared between the rank, which waits, and its helper threads, which wake it.
pub trait Idle: Send + Sync {
    /// Returns soon: after a message for this rank may have arrived, after [`Idle::wake`], or after a short while.
    /// `rounds` counts the calls since something last happened, for fabrics that can only back off.
    fn idle(&self, rounds: u32);

    /// Ends the current or the next [`Idle::idle`] at once. Any thread may call it.
    fn wake(&self);

    /// Tells whether the ranks of this host have to share cores; as long as nobody tells, it is taken that they do. For
    /// fabrics that look again and again.
    fn set_crowded(&self, _crowded: bool) {}
}
