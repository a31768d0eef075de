//! A linear gather of blocks of different lengths.
//!
//! The root receives from every other rank, at most 32 messages at a time; each receive has room for the longest block.
//! (p - 1) t_s + (sum of blocks) t_w at the root: for statistics, not for data.

use crate::error::Result;
use crate::fabric::{Memory, Message};
use crate::schedule::{Action, Buffer, Builder, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

/// Returns the schedule of this rank, whose block has `len` bytes; the longest block of any rank has `longest`.
pub fn linear(rank: Rank, ranks: usize, root: Rank, len: u64, longest: u64) -> Schedule {
    let mut builder = Builder::default();
    if rank == root {
        let place = |from: Rank| Span::new(Buffer::Receive, from as u64 * longest, longest);
        let chain: Vec<_> =
            (0..ranks).filter(|&r| r != root).map(|from| (Action::Receive { from }, place(from))).collect();
        builder.chain(&chain, Throttle::sliding(32), &[]);
    } else {
        builder.send(root, SendMode::Synchronous, Span::new(Buffer::Send, 0, len), &[]);
    }
    builder.finish()
}

/// Memory of a gather: keeps the messages as they arrive.
pub struct GatherSlots {
    own: Message,
    bodies: Vec<Message>,
}

impl GatherSlots {
    /// Returns memory for `slots` blocks (0 on all ranks but the root); this rank's block is `own`.
    pub fn new(own: &[u8], rank: Rank, slots: usize) -> Self {
        let own = Message::copy_from_slice(own);
        let mut bodies = vec![Message::new(); slots];
        if let Some(slot) = bodies.get_mut(rank) {
            *slot = own.clone();
        }
        Self { own, bodies }
    }

    /// Returns all blocks, in rank order.
    pub fn into_blocks(self) -> Vec<Vec<u8>> {
        self.bodies.into_iter().map(Vec::from).collect()
    }
}

impl Memory for GatherSlots {
    fn read(&mut self, _span: Span) -> Result<Message> {
        Ok(self.own.clone())
    }

    fn write(&mut self, from: Rank, _span: Span, message: Message) -> Result<()> {
        self.bodies[from] = message;
        Ok(())
    }

    fn copy(&mut self, _from: Span, _to: Span) -> Result<()> {
        Ok(())
    }
}
