//! Messages on their way, and the memory that MPI reads and writes meanwhile.

use std::ffi::c_int;

use super::raw::{Comm, Request};
use crate::error::{Error, Result};
use crate::fabric::Message;
use crate::fabric::pool::Block;
use crate::topology::Rank;

/// A message that is on its way.
pub(super) enum Flight {
    /// The body, and how many of its chunks are not taken yet.
    Send {
        to: Rank,
        tag: u16,
        #[expect(dead_code, reason = "kept alive for MPI, which reads it")]
        body: Message,
        chunks: usize,
    },
    /// What has come so far.
    Receive(Incoming),
}

/// A receive, chunk by chunk.
pub(super) struct Incoming {
    pub(super) from: Rank,
    pub(super) tag: u16,
    pub(super) capacity: usize,
    /// Room for `capacity` bytes; the length is what has come.
    pub(super) body: Block,
    /// The last chunk was full, and the receive of the next is not posted yet.
    pub(super) waiting: bool,
}

impl Incoming {
    pub(super) fn new(from: Rank, tag: u16, capacity: u64) -> Result<Self> {
        let room = usize::try_from(capacity).ok().and_then(|capacity| Some((capacity, Block::take(capacity).ok()?)));
        let Some((capacity, body)) = room else {
            return Err(Error::Fabric(format!("no memory to receive {capacity} bytes from rank {from}")));
        };
        Ok(Self { from, tag, capacity, body, waiting: false })
    }

    /// Starts the receive of the next chunk behind what has come.
    pub(super) fn post(&mut self, comm: &Comm, chunk: usize, tag: c_int) -> Result<Request> {
        let length = (self.capacity - self.body.len()).min(chunk);
        let from = self.body.len();
        let room = &mut self.body.whole_mut()[from..][..length];
        // SAFETY: the block never grows, and is among the flights until the chunk has ended, or leaked.
        unsafe { comm.receive(room.as_mut_ptr(), room.len(), self.from, tag) }
    }

    /// Counts in a chunk that has come.
    pub(super) fn grow(&mut self, bytes: usize) {
        let length = (self.body.len() + bytes).min(self.capacity);
        self.body.set_len(length);
    }

    pub(super) fn name(&self) -> String {
        format!("receive of at most {} bytes from rank {} with tag {}", self.capacity, self.from, self.tag)
    }
}
