//! Messages in flight, and the memory that MPI reads and writes for them.

use std::ffi::c_int;

use super::raw::{Comm, Request};
use crate::error::{Error, Result};
use crate::fabric::Message;
use crate::fabric::pool::Block;
use crate::topology::Rank;

/// A message in flight.
pub(super) enum Flight {
    /// A send: the body, and the number of chunks that are not sent yet.
    Send {
        to: Rank,
        tag: u16,
        #[expect(dead_code, reason = "kept alive for MPI, which reads it")]
        body: Message,
        chunks: usize,
    },
    /// A receive: the bytes received so far.
    Receive(Incoming),
}

/// A receive of a message, chunk by chunk.
pub(super) struct Incoming {
    pub(super) from: Rank,
    pub(super) tag: u16,
    pub(super) capacity: usize,
    /// A block of `capacity` bytes; its length is the number of bytes received.
    pub(super) body: Block,
    /// True if the last chunk was full and the receive of the next is not posted yet.
    pub(super) waiting: bool,
}

impl Incoming {
    pub(super) fn new(from: Rank, tag: u16, capacity: u64) -> Result<Self> {
        let room = usize::try_from(capacity).ok().and_then(|capacity| Some((capacity, Block::take(capacity).ok()?)));
        let Some((capacity, body)) = room else {
            return Err(Error::fabric(format!("no memory to receive {capacity} bytes from rank {from}")));
        };
        Ok(Self { from, tag, capacity, body, waiting: false })
    }

    /// Posts the receive of the next chunk behind the received bytes.
    pub(super) fn post(&mut self, comm: &Comm, chunk: usize, tag: c_int) -> Result<Request> {
        let length = (self.capacity - self.body.len()).min(chunk);
        let from = self.body.len();
        let room = &mut self.body.whole_mut()[from..][..length];
        // SAFETY: the block never grows, and is in `flights` until the chunk has ended, or is leaked.
        unsafe { comm.receive(room.as_mut_ptr(), room.len(), self.from, tag) }
    }

    /// Adds a chunk of `bytes` bytes to the received bytes.
    pub(super) fn grow(&mut self, bytes: usize) {
        let length = (self.body.len() + bytes).min(self.capacity);
        self.body.set_len(length);
    }

    pub(super) fn name(&self) -> String {
        format!("receive of at most {} bytes from rank {} with tag {}", self.capacity, self.from, self.tag)
    }
}
