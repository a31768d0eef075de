//! A transport that does something around its calls: causes faults, or takes notes.

use std::sync::Arc;

use tributary::fabric::{Completion, Idle, Message, Stop, Ticket, Transport};
use tributary::schedule::SendMode;
use tributary::{Rank, Result};

/// Actions around the calls of a rank's transport.
pub trait Around: 'static {
    /// Runs before the transport progresses, sends or receives, and after a poll in which a message has ended. (The
    /// number of other polls depends on timing.) An error becomes the call's.
    fn called(&mut self, _rank: Rank, _what: &str) -> Result<()> {
        Ok(())
    }

    /// Runs before a message is sent; gets sender, receiver, tag and number of bytes.
    fn sends(&mut self, _from: Rank, _to: Rank, _tag: u16, _bytes: u64) {}

    /// Runs when a message has arrived.
    fn arrives(&mut self, _message: &mut Message) {}
}

/// A transport that runs the actions of `A` around its calls.
pub struct Surrounded<A> {
    pub inner: Box<dyn Transport>,
    pub around: A,
}

impl<A: Around> Transport for Surrounded<A> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    fn node_label(&self) -> usize {
        self.inner.node_label()
    }

    fn shares_memory(&self) -> bool {
        self.inner.shares_memory()
    }

    fn progress(&mut self) -> Result<()> {
        self.around.called(self.rank(), "progress")?;
        self.inner.progress()
    }

    fn send(&mut self, to: Rank, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        self.around.called(self.rank(), "send")?;
        self.around.sends(self.rank(), to, tag, message.len() as u64);
        self.inner.send(to, tag, mode, message)
    }

    fn receive(&mut self, from: Rank, tag: u16, capacity: u64) -> Result<Ticket> {
        self.around.called(self.rank(), "receive")?;
        self.inner.receive(from, tag, capacity)
    }

    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        let before = done.len();
        self.inner.poll(done)?;
        if done.len() > before {
            self.around.called(self.rank(), "poll")?;
        }
        done[before..]
            .iter_mut()
            .filter_map(|one| one.message.as_mut())
            .for_each(|message| self.around.arrives(message));
        Ok(())
    }

    fn idle(&self) -> Arc<dyn Idle> {
        self.inner.idle()
    }

    fn stop(&self) -> Stop {
        self.inner.stop()
    }

    fn duplicate(&mut self) -> Result<Box<dyn Transport>> {
        self.inner.duplicate()
    }
}
