//! The state of one rank.

use std::collections::VecDeque;

use super::Time;
use super::matching::MatchQueue;
use super::message::Message;
use super::program::{Handle, RankProgram};
use super::receipts::Receipts;

/// No operation.
pub(super) const NONE: Handle = Handle::MAX;

/// A rank: its processor and its program. Only ranks that receive have queues.
///
/// The fields that every event uses come first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct RankState {
    /// Time at which the processor has done all work known so far.
    pub(super) cpu: Time,
    /// Finished sends that the program has not noticed yet.
    pub(super) receipts: Option<Box<Receipts>>,
    pub(super) program: RankProgram,
    pub(super) queues: Option<Box<Queues>>,
    /// Its current part.
    pub(super) part: u32,
    /// The send that is due when the rank wakes.
    pub(super) pending: Handle,
    /// Requests posted and not finished.
    pub(super) outstanding: u32,
    /// The largest number of these so far.
    pub(super) peak: u32,
    /// Whether an event will wake it when the processor is free. Arrivals wait until then.
    pub(super) wakes: bool,
    pub(super) spent: Spent,
}

/// The time that a rank spent, by activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time at which it had finished everything.
    pub total: Time,
    /// Posting receives, including searches of the unexpected messages.
    pub post_receives: Time,
    /// Posting sends, including making connections.
    pub post_sends: Time,
    /// The stages inside the node, without posting.
    pub gather: Time,
}

impl Spent {
    /// Both kinds of posting.
    pub fn posting(&self) -> Time {
        self.post_receives + self.post_sends
    }

    /// Waiting, including the work done meanwhile.
    pub fn waiting(&self) -> Time {
        self.total.saturating_sub(self.posting() + self.gather)
    }
}

/// The matching queues of a rank that receives.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) posted: MatchQueue<Handle>,
    pub(super) unexpected: MatchQueue<Message>,
    /// Messages that arrived while the processor was busy, with their times.
    pub(super) backlog: VecDeque<(Time, Message)>,
    /// A bit for each rank that has sent, if connections cost time.
    connected: Vec<u64>,
    /// Number of connections made at this end.
    pub(super) connections: u32,
    pub(super) longest_posted: usize,
    pub(super) longest_unexpected: usize,
    pub(super) walked: u64,
}

impl Queues {
    /// Queues a message that is inside at `time`.
    #[inline]
    pub(super) fn wait(&mut self, time: Time, message: Message) {
        if self.backlog.back().is_none_or(|(last, _)| *last <= time) {
            return self.backlog.push_back((time, message));
        }
        let at = self.backlog.partition_point(|(other, _)| *other <= time);
        self.backlog.insert(at, (time, message));
    }

    /// Records that `from` (of `ranks` ranks) sends; returns whether it is the first time.
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

impl RankState {
    pub(super) fn new() -> Self {
        Self {
            cpu: 0,
            receipts: None,
            program: RankProgram::Over,
            queues: None,
            part: 0,
            pending: NONE,
            outstanding: 0,
            peak: 0,
            wakes: false,
            spent: Spent::default(),
        }
    }

    /// Counts a request; returns whether the rank never had so many before.
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
        let bytes = size_of::<super::RankState>() + size_of::<crate::sim::network::RankSite>();
        assert!(bytes < 200, "{bytes}");
    }
}
