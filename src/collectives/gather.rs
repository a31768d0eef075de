//! Linear gather of bodies of different length.
//!
//! The root receives from every other rank, 32 at a time, each body at a place of the longest length. (p - 1) t_s + (sum
//! of bodies) t_w at the root; fit for statistics, not for data.

use crate::error::Result;
use crate::fabric::{Memory, Message};
use crate::schedule::{Action, Buffer, Builder, ReduceOp, Schedule, SendMode, Span, Throttle};
use crate::topology::Rank;

/// This rank's part: `len` bytes of its own, at most `longest` from any other.
pub fn linear(rank: Rank, ranks: usize, root: Rank, len: u64, longest: u64) -> Schedule {
    let mut builder = Builder::default();
    if rank == root {
        let place = |from: Rank| Span::new(Buffer::Receive, from as u64 * longest, longest);
        let chain: Vec<_> =
            (0..ranks).filter(|&r| r != root).map(|from| (Action::Receive { from }, place(from))).collect();
        builder.chain(&chain, Throttle::window(32), &[]);
    } else {
        builder.send(root, SendMode::Synchronous, Span::new(Buffer::Send, 0, len), &[]);
    }
    builder.finish()
}

/// The memory of a gather: bodies are kept as they arrive.
pub struct Slots {
    own: Message,
    bodies: Vec<Message>,
}

impl Slots {
    /// `slots` bodies to come (0 on all ranks but the root), of which this rank's is here already.
    pub fn new(own: &[u8], rank: Rank, slots: usize) -> Self {
        let own = Message::copy_from_slice(own);
        let mut bodies = vec![Message::new(); slots];
        if let Some(slot) = bodies.get_mut(rank) {
            *slot = own.clone();
        }
        Self { own, bodies }
    }

    /// All bodies, in rank order.
    pub fn into_bodies(self) -> Vec<Vec<u8>> {
        self.bodies.into_iter().map(Vec::from).collect()
    }
}

impl Memory for Slots {
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

    fn reduce(&mut self, _from: Span, _to: Span, _with: ReduceOp) -> Result<()> {
        Ok(())
    }
}
