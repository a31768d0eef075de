//! The state of one rank.

use std::collections::VecDeque;

use super::Time;
use super::matching::MatchQueue;
use super::message::Message;
use super::program::{Handle, Program};
use super::receipts::Receipts;

/// No operation.
pub(super) const NONE: Handle = Handle::MAX;

/// A rank: its processor and its program. Queues only where messages arrive.
///
/// In this order: what every event looks at comes first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Host {
    /// When the processor has done all that is known by now.
    pub(super) cpu: Time,
    /// Sends that are finished, and nobody knows it yet.
    pub(super) receipts: Option<Box<Receipts>>,
    pub(super) program: Program,
    pub(super) queues: Option<Box<Queues>>,
    /// Its present part.
    pub(super) part: u32,
    /// The send that is due when the rank wakes.
    pub(super) pending: Handle,
    /// Requests posted and not finished.
    pub(super) outstanding: u32,
    /// The most there ever were.
    pub(super) peak: u32,
    /// Whether it will be woken when the processor is free; what arrives meanwhile waits.
    pub(super) wakes: bool,
    pub(super) spent: Spent,
}

/// Where a rank's time went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// When it had finished everything.
    pub total: Time,
    /// Posting receives, with the search of the unexpected messages.
    pub post_receives: Time,
    /// Posting sends, with the making of connections.
    pub post_sends: Time,
    /// The stages inside the node, but for posting.
    pub gather: Time,
}

impl Spent {
    /// Both kinds of posting.
    pub fn posting(&self) -> Time {
        self.post_receives + self.post_sends
    }

    /// Waiting, with all that is done meanwhile.
    pub fn waiting(&self) -> Time {
        self.total.saturating_sub(self.posting() + self.gather)
    }
}

/// The matching queues of a rank that receives.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) posted: MatchQueue<Handle>,
    pub(super) unexpected: MatchQueue<Message>,
    /// What arrived while the processor was busy, and when.
    pub(super) backlog: VecDeque<(Time, Message)>,
    /// A bit for each rank that has sent, where connections cost anything.
    connected: Vec<u64>,
    /// Connections that were made at this end.
    pub(super) connections: u32,
    pub(super) longest_posted: usize,
    pub(super) longest_unexpected: usize,
    pub(super) walked: u64,
}

impl Queues {
    /// Lets a message wait that is inside at `time`.
    #[inline]
    pub(super) fn wait(&mut self, time: Time, message: Message) {
        if self.backlog.back().is_none_or(|(last, _)| *last <= time) {
            return self.backlog.push_back((time, message));
        }
        let at = self.backlog.partition_point(|(other, _)| *other <= time);
        self.backlog.insert(at, (time, message));
    }

    /// Notes that `from` (of `ranks`) sends; whether it is the first time.
    pub(super) fn connect(&mut self, from: usize, ranks: usize) -> bool {
        if self.connected.is_empty() {
            self.connected = vec![0; ranks.div_ceil(64)];
        }
        let (word, bit) = (&mut self.connected[from / 64], 1u64 << (from % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

impl Host {
    pub(super) fn new() -> Self {
        Self {
            cpu: 0,
            receipts: None,
            program: Program::Over,
            queues: None,
            part: 0,
            pending: NONE,
            outstanding: 0,
            peak: 0,
            wakes: false,
            spent: Spent::default(),
        }
    }

    /// Counts a request; whether the rank never had so many before.
    pub(super) fn request(&mut self) -> bool {
        self.outstanding += 1;
        let first = self.outstanding > self.peak;
        self.peak = self.peak.max(self.outstanding);
        first
    }

    /// Finishes an operation now.
    pub(super) fn finish(&mut self, handle: Handle) {
        if let Some(gathered) = self.program.finish(handle, self.cpu, &self.spent) {
            self.spent.gather += gathered;
        }
    }
}

impl Queues {
    pub(super) fn longest(&self) -> (usize, usize) {
        (self.longest_posted, self.longest_unexpected)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_rank_takes_less_than_200_bytes() {
        let bytes = size_of::<super::Host>() + size_of::<crate::sim::network::Site>();
        assert!(bytes < 200, "{bytes}");
    }
}
