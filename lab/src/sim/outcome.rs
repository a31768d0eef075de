//! What a run tells.

use super::Time;
use super::engine::Count;
use super::host::{Host, Spent};
use super::phases::Phases;

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Where the time of every rank went.
    pub ranks: Vec<Spent>,
    /// Messages matched.
    pub messages: u64,
    /// What happened to them: each passes ports, stands at a door, is taken in, and its send is finished.
    pub events: u64,
    /// The most messages that were under way or waiting at a time.
    pub peak_messages: usize,
    /// The longest queue of posted receives.
    pub longest_posted: usize,
    /// The longest queue of unexpected messages.
    pub longest_unexpected: usize,
    /// Queue entries that were looked at.
    pub walked: u64,
    /// Where it went by the workload's phases, if it has any.
    pub phases: Phases,
}

/// Seconds, the largest of any rank: as programs print them that reduce each with MPI_MAX.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Seconds {
    /// From the start to the end.
    pub total: f64,
    /// Posting receives.
    pub post_receives: f64,
    /// Posting sends.
    pub post_sends: f64,
    /// The gather inside the node.
    pub gather: f64,
    /// Waiting for requests.
    pub waiting: f64,
}

impl Outcome {
    pub(super) fn of(hosts: &[Host], count: &Count) -> Self {
        let queues = || hosts.iter().filter_map(|host| host.queues.as_deref());
        Self {
            ranks: hosts.iter().map(|host| host.spent).collect(),
            messages: count.matched,
            events: count.events,
            peak_messages: count.peak,
            longest_posted: queues().map(|queues| queues.longest().0).max().unwrap_or(0),
            longest_unexpected: queues().map(|queues| queues.longest().1).max().unwrap_or(0),
            walked: queues().map(|queues| queues.walked).sum(),
            phases: Phases::default(),
        }
    }

    /// When the last rank was done, in picoseconds.
    pub fn end(&self) -> Time {
        self.ranks.iter().map(|spent| spent.total).max().unwrap_or(0)
    }

    /// The largest of any rank, in seconds.
    pub fn seconds(&self) -> Seconds {
        let most = |part: fn(&Spent) -> Time| self.ranks.iter().map(part).max().unwrap_or(0) as f64 * 1e-12;
        Seconds {
            total: most(|spent| spent.total),
            post_receives: most(|spent| spent.post_receives),
            post_sends: most(|spent| spent.post_sends),
            gather: most(|spent| spent.gather),
            waiting: most(Spent::waiting),
        }
    }
}
