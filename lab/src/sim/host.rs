//! State of one simulated rank.

use std::collections::VecDeque;

use super::Time;
use super::matching::MatchQueue;
use super::message::Message;
use super::program::{Handle, RankProgram};
use super::receipts::Receipts;

/// Handle that stands for no operation.
pub(super) const NONE: Handle = Handle::MAX;

/// State of a rank: its processor and its program. Only ranks that receive have queues.
///
/// The fields that every event uses come first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct RankState {
    /// Time at which the rank's processor has done all work known so far.
    pub(super) cpu: Time,
    /// Finished sends that the rank's program has not noticed yet.
    pub(super) receipts: Option<Box<Receipts>>,
    pub(super) program: RankProgram,
    pub(super) queues: Option<Box<Queues>>,
    /// Number of the workload part that the rank runs now.
    pub(super) part: u32,
    /// Send that is due when the rank wakes.
    pub(super) pending: Handle,
    /// Number of requests posted and not finished.
    pub(super) outstanding: u32,
    /// Largest value of `outstanding` so far.
    pub(super) peak: u32,
    /// True if an event is scheduled for when the rank's processor is free. Arrivals wait until then.
    pub(super) wakes: bool,
    pub(super) spent: Spent,
}

/// Time that a rank spent, by activity, in picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time at which the rank had finished everything.
    pub total: Time,
    /// Time for posting receives, including searches of the unexpected messages.
    pub post_receives: Time,
    /// Time for posting sends, including making connections.
    pub post_sends: Time,
    /// Time in the stages inside the node (gather and scatter by local aggregators), without posting.
    pub gather: Time,
}

impl Spent {
    /// Returns the time for posting receives and sends.
    pub fn posting(&self) -> Time {
        self.post_receives + self.post_sends
    }

    /// Returns the waiting time, including the work done meanwhile.
    pub fn waiting(&self) -> Time {
        self.total.saturating_sub(self.posting() + self.gather)
    }
}

/// Matching queues of a rank that receives.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) posted: MatchQueue<Handle>,
    pub(super) unexpected: MatchQueue<Message>,
    /// Messages that arrived while the processor was busy, with their arrival times.
    pub(super) backlog: VecDeque<(Time, Message)>,
    /// One bit for each rank that has sent to this rank, if connections cost time.
    connected: Vec<u64>,
    /// Number of connections that other ranks have made to this rank.
    pub(super) connections: u32,
    pub(super) longest_posted: usize,
    pub(super) longest_unexpected: usize,
    pub(super) walked: u64,
}

impl Queues {
    /// Queues a message that arrives at `time` until the processor is free.
    #[inline]
    pub(super) fn wait(&mut self, time: Time, message: Message) {
        if self.backlog.back().is_none_or(|(last, _)| *last <= time) {
            return self.backlog.push_back((time, message));
        }
        let at = self.backlog.partition_point(|(other, _)| *other <= time);
        self.backlog.insert(at, (time, message));
    }

    /// Records that rank `from` (of `ranks` ranks) sends; returns true if it is the first time.
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

    /// Reads the rank's state, so that a cache has it.
    #[inline]
    pub(super) fn touch(&self) {
        std::hint::black_box((self.cpu, self.part, self.spent.gather));
        if let Some(receipts) = &self.receipts {
            receipts.touch();
        }
    }

    /// Counts a posted request; returns true if the rank never had so many outstanding before.
    pub(super) fn request(&mut self) -> bool {
        self.outstanding += 1;
        let first = self.outstanding > self.peak;
        self.peak = self.peak.max(self.outstanding);
        first
    }

    /// Marks an operation as finished now.
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
