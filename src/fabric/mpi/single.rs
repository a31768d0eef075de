//! The transport of a file that one process of an MPI program has open: it needs no communicator and sends no message.

use std::sync::Arc;

use super::idle::Backoff;
use crate::error::{Error, Result};
use crate::fabric::shared::host;
use crate::fabric::{Completion, Idle, Message, Stop, Ticket, Transport};
use crate::schedule::SendMode;
use crate::topology::Rank;

/// The transport of a single rank. A failure that is not agreed ends the whole MPI program, like the failures of
/// [`MpiEndpoint`](super::MpiEndpoint).
pub struct SingleRank {
    idle: Arc<Backoff>,
}

impl SingleRank {
    /// Creates the transport. Local; calls no function of MPI, except to warn once if the launcher belongs to another MPI
    /// library. MPI is initialised.
    pub fn new() -> Self {
        super::warn_of_another_launcher();
        Self { idle: Arc::new(Backoff::new()) }
    }

    fn no_peer<T>(&self) -> Result<T> {
        Err(Error::internal(0, "a single rank has nobody to exchange messages with"))
    }
}

impl Default for SingleRank {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for SingleRank {
    fn rank(&self) -> Rank {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn node_label(&self) -> usize {
        host::label() as usize
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn progress(&mut self) -> Result<()> {
        Ok(())
    }

    fn send(&mut self, _: Rank, _: u16, _: SendMode, _: Message) -> Result<Ticket> {
        self.no_peer()
    }

    fn receive(&mut self, _: Rank, _: u16, _: u64) -> Result<Ticket> {
        self.no_peer()
    }

    fn poll(&mut self, _: &mut Vec<Completion>) -> Result<()> {
        Ok(())
    }

    fn idle(&self) -> Arc<dyn Idle> {
        self.idle.clone()
    }

    fn stop(&self) -> Stop {
        Box::new(super::end_job)
    }

    fn duplicate(&mut self) -> Result<Box<dyn Transport>> {
        Ok(Box::new(Self::new()))
    }
}
