//! A transport with something around its calls: faults, or notes.

use std::sync::Arc;

use tributary::fabric::{Completion, Idle, Message, Stop, Ticket, Transport};
use tributary::schedule::SendMode;
use tributary::{Rank, Result};

/// What is done around the calls of a rank's transport.
pub trait Around: 'static {
    /// Before it progresses, sends or receives, and after a poll in which something has ended. (The number of other polls depends on
    /// timing.) An error is the call's.
    fn called(&mut self, _rank: Rank, _what: &str) -> Result<()> {
        Ok(())
    }

    /// Before a message is sent: sender, receiver, tag and bytes.
    fn sends(&mut self, _from: Rank, _to: Rank, _tag: u16, _bytes: u64) {}

    /// A message has arrived.
    fn arrives(&mut self, _message: &mut Message) {}
}

/// The transport.
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
