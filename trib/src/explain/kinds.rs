//! Calls that follow one another and are alike.

use serde::Serialize;
use tributary::engine::Seconds;

use super::calls::CallAccount;

/// Calls in a row that move as much the same way for the same reason, as `trib capture info` counts them.
#[derive(Debug, Clone, Serialize)]
pub struct Kind {
    /// The first call.
    pub first: usize,
    /// How many there are.
    pub count: usize,
    /// `write` or `read`.
    pub direction: &'static str,
    /// Ranks with data, of one call.
    pub ranks: u64,
    /// Requests of one call.
    pub requests: u64,
    /// Bytes of one call.
    pub bytes: u64,
    /// Pieces of memory of one call.
    pub memory_pieces: u64,
    /// Which way they went; `failed`.
    pub path: String,
    /// Why; or the error.
    pub why: String,
    /// How many used the plan of the call before.
    pub plans_reused: usize,
    /// Aggregators.
    pub aggregators: usize,
    /// Most windows with data of an aggregator in one call.
    pub rounds: u64,
    /// Messages of lists, of all calls.
    pub metadata_messages: u64,
    /// Messages of data, of all calls.
    pub data_messages: u64,
    /// Bytes of lists, of all calls.
    pub metadata_bytes: u64,
    /// Time by phase, of all calls.
    pub seconds: Seconds,
    /// From the first rank's start to the last one's end, of all calls.
    pub lasted: f64,
    /// What ranks waited for the last one to come, on average over the others, of all calls.
    pub waited: f64,
}

impl Kind {
    fn of(call: &CallAccount) -> Self {
        let report = call.report.clone().unwrap_or_default();
        let mut kind = Self {
            first: call.call,
            count: 0,
            direction: call.direction,
            ranks: call.ranks,
            requests: call.requests,
            bytes: call.bytes,
            memory_pieces: call.memory_pieces,
            path: call.path(),
            why: call.why(),
            plans_reused: 0,
            aggregators: report.aggregators,
            rounds: 0,
            metadata_messages: 0,
            data_messages: 0,
            metadata_bytes: 0,
            seconds: Seconds::default(),
            lasted: 0.0,
            waited: 0.0,
        };
        kind.add(call);
        kind
    }

    fn add(&mut self, call: &CallAccount) {
        let report = call.report.clone().unwrap_or_default();
        self.count += 1;
        self.plans_reused += usize::from(report.plan_reused);
        self.rounds = self.rounds.max(report.rounds);
        self.metadata_messages += report.metadata_messages;
        self.data_messages += report.data_messages;
        self.metadata_bytes += report.metadata_bytes;
        self.seconds += report.seconds;
        self.lasted += call.lasted();
        self.waited += call.waited;
    }

    fn is_like(&self, call: &CallAccount) -> bool {
        let sums = (self.ranks, self.requests, self.bytes, self.memory_pieces);
        self.direction == call.direction
            && sums == (call.ranks, call.requests, call.bytes, call.memory_pieces)
            && (&self.path, &self.why) == (&call.path(), &call.why())
    }

    /// The numbers of the calls.
    pub fn calls(&self) -> String {
        match self.count {
            1 => self.first.to_string(),
            count => format!("{} to {}", self.first, self.first + count - 1),
        }
    }
}

/// All calls by kind.
pub fn kinds(calls: &[CallAccount]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for call in calls {
        match kinds.last_mut() {
            Some(last) if last.is_like(call) => last.add(call),
            _ => kinds.push(Kind::of(call)),
        }
    }
    kinds
}
