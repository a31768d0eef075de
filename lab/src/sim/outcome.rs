//! Outcome of a simulation: times and counts.

use super::Time;
use super::engine::Count;
use super::host::{Host, Spent};
use super::phases::Phases;

/// Times and counts that a simulation returns.
#[derive(Debug, Clone, PartialEq)]
pub struct SimOutcome {
    /// Time of every rank by activity, in picoseconds.
    pub ranks: Vec<Spent>,
    /// Number of messages that were matched.
    pub messages: u64,
    /// Number of events of messages.
    pub events: u64,
    /// Maximum number of messages under way or waiting at a time.
    pub peak_messages: usize,
    /// Maximum length of a rank's queue of posted receives.
    pub longest_posted: usize,
    /// Maximum length of a rank's queue of unexpected messages.
    pub longest_unexpected: usize,
    /// Number of queue entries that all searches inspected.
    pub walked: u64,
    /// Time of every rank by phase, if the workload has phases.
    pub phases: Phases,
}

/// Times in seconds, each the maximum over ranks, as programs report them that reduce with MPI_MAX.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Seconds {
    /// Seconds from the start to the end.
    pub total: f64,
    /// Seconds for posting receives.
    pub post_receives: f64,
    /// Seconds for posting sends.
    pub post_sends: f64,
    /// Seconds for the gather inside the node.
    pub gather: f64,
    /// Seconds of waiting for requests.
    pub waiting: f64,
}

impl SimOutcome {
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

    /// Returns the time at which the last rank ended, in picoseconds.
    pub fn end(&self) -> Time {
        self.ranks.iter().map(|spent| spent.total).max().unwrap_or(0)
    }

    /// Returns the maxima over ranks, in seconds.
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
