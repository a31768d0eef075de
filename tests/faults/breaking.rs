//! A transport of which one call fails on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tributary::fabric::Message;
use tributary::{Error, Rank, Result};
use tributary_testing::around::Around;

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The call returns an error.
    Error,
    /// The call panics.
    Panic,
    /// The first message that arrives after the call is one byte too short.
    Cut,
}

/// A transport whose call number `at` fails; 0: none fails.
pub struct Breaking {
    how: Break,
    at: u64,
    /// Number of calls so far.
    calls: Arc<AtomicU64>,
    cuts: bool,
    /// True if a message was cut.
    cut: Arc<AtomicBool>,
}

impl Breaking {
    pub fn new(how: Break, at: u64, calls: Arc<AtomicU64>, cut: Arc<AtomicBool>) -> Self {
        Self { how, at, calls, cuts: false, cut }
    }
}

impl Around for Breaking {
    fn called(&mut self, rank: Rank, what: &str) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) + 1 != self.at {
            return Ok(());
        }
        match self.how {
            Break::Error => Err(Error::fabric(format!("{what} fails on purpose on rank {rank}"))),
            Break::Panic => panic!("{what} panics on purpose"),
            Break::Cut => {
                self.cuts = true;
                Ok(())
            }
        }
    }

    fn arrives(&mut self, message: &mut Message) {
        if self.cuts && !message.is_empty() {
            message.truncate(message.len() - 1);
            self.cuts = false;
            self.cut.store(true, Ordering::Relaxed);
        }
    }
}
