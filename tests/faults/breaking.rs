//! A transport on which one call fails on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tributary::fabric::{Completion, Idle, Message, Stop, Ticket, Transport};
use tributary::schedule::SendMode;
use tributary::{Error, Result};

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The call returns an error.
    Error,
    /// It panics.
    Panic,
    /// The first message that arrives from then on is one byte too short.
    Cut,
}

/// A transport whose call number `at` fails; 0: none.
pub struct Breaking {
    inner: Box<dyn Transport>,
    how: Break,
    at: u64,
    /// Counts calls.
    calls: Arc<AtomicU64>,
    cuts: bool,
    /// Whether a message was cut.
    cut: Arc<AtomicBool>,
}

impl Breaking {
    pub fn new(inner: Box<dyn Transport>, how: Break, at: u64, calls: Arc<AtomicU64>, cut: Arc<AtomicBool>) -> Self {
        Self { inner, how, at, calls, cuts: false, cut }
    }

    fn count(&mut self, what: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) + 1 != self.at {
            return Ok(());
        }
        match self.how {
            Break::Error => Err(Error::Fabric(format!("{what} fails on purpose on rank {}", self.rank()))),
            Break::Panic => panic!("{what} panics on purpose"),
            Break::Cut => {
                self.cuts = true;
                Ok(())
            }
        }
    }
}

impl Transport for Breaking {
    fn rank(&self) -> usize {
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
        self.count("progress")?;
        self.inner.progress()
    }

    fn send(&mut self, to: usize, tag: u16, mode: SendMode, message: Message) -> Result<Ticket> {
        self.count("send")?;
        self.inner.send(to, tag, mode, message)
    }

    fn receive(&mut self, from: usize, tag: u16, capacity: u64) -> Result<Ticket> {
        self.count("receive")?;
        self.inner.receive(from, tag, capacity)
    }

    fn poll(&mut self, done: &mut Vec<Completion>) -> Result<()> {
        let before = done.len();
        self.inner.poll(done)?;
        // Not counted: the number of unsuccessful polls depends on timing.
        if done.len() > before {
            self.count("poll")?;
        }
        for message in done[before..].iter_mut().filter_map(|completion| completion.message.as_mut()) {
            if self.cuts && !message.is_empty() {
                message.truncate(message.len() - 1);
                self.cuts = false;
                self.cut.store(true, Ordering::Relaxed);
            }
        }
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
