//! Sends that are finished at a known time: acknowledged, connected, or their bytes have left.
//!
//! Nobody but the sender sees this, so it is no event until the sender's program may go on with it: it waits here.

use super::Time;
use super::program::Handle;

/// Receipts that there is room for at once.
const FEW: usize = 16;

/// When a send is finished for its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Receipt {
    time: Time,
    send: Handle,
}

/// The receipts of a rank that it has not taken in.
#[derive(Debug)]
pub(super) struct Receipts {
    list: Vec<Receipt>,
    /// Whether `list` is in descending order.
    sorted: bool,
    earliest: Time,
    /// When the rank is called to look at them.
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

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// When the first of them came; the end of time if there is none.
    #[inline]
    pub(super) fn earliest(&self) -> Time {
        self.earliest
    }

    /// When the last of them came.
    pub(super) fn latest(&self) -> Time {
        self.list.iter().map(|receipt| receipt.time).max().unwrap_or(Time::MAX)
    }

    /// Takes the earliest.
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
