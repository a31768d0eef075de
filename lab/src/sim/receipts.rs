//! Completions of sends at a known time: the receiver has acknowledged, a connection is made, or the bytes have left.
//!
//! Only the sender sees a completion, so the completion waits here and becomes an event only when the sender's program
//! may continue.

use super::Time;
use super::program::Handle;

/// Initial capacity of the list.
const FEW: usize = 16;

/// Time at which a send is finished for its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Receipt {
    time: Time,
    send: Handle,
}

/// Completions of sends that a rank has not processed.
#[derive(Debug)]
pub(super) struct Receipts {
    list: Vec<Receipt>,
    /// True if `list` is in descending order.
    sorted: bool,
    earliest: Time,
    /// Time of the event at which the rank processes the completions.
    pub(super) due: Time,
}

impl Default for Receipts {
    fn default() -> Self {
        Self { list: Vec::with_capacity(FEW), sorted: true, earliest: Time::MAX, due: Time::MAX }
    }
}

impl Receipts {
    #[inline]
    pub(super) fn push(&mut self, time: Time, send: Handle) {
        self.sorted = false;
        self.earliest = self.earliest.min(time);
        self.list.push(Receipt { time, send });
    }

    /// Reads the place of the next completion, so that a cache has it.
    #[inline]
    pub(super) fn touch(&self) {
        std::hint::black_box((self.earliest, self.list.last()));
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the time of the earliest completion; the maximum if there is none.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.earliest
    }

    /// Returns the time of the latest completion.
    pub(super) fn latest(&self) -> Time {
        self.list.iter().map(|receipt| receipt.time).max().unwrap_or(Time::MAX)
    }

    /// Removes and returns the earliest completion.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Time, Handle)> {
        if !self.sorted {
            self.list.sort_unstable_by(|a, b| b.cmp(a));
            self.sorted = true;
        }
        let Receipt { time, send } = self.list.pop()?;
        self.earliest = self.list.last().map_or(Time::MAX, |receipt| receipt.time);
        Some((time, send))
    }
}
