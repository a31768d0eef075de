//! Groups of calls that are alike.

use serde::Serialize;
use tributary::engine::Seconds;

use super::calls::CallAccount;
use crate::numbers::grouped;

/// Maximum number of ranges of calls in the text of a kind.
const RANGES: usize = 2;

/// Calls that move the same amount of data, on the same path, for the same reason. `trib capture info` groups consecutive calls
/// the same way.
#[derive(Debug, Clone, Serialize)]
pub struct Kind {
    /// Number of the first of these calls on the file, from 0.
    pub first: usize,
    /// Number of calls of this kind.
    pub count: usize,
    /// First and last call of each sequence of consecutive calls of this kind.
    pub ranges: Vec<(usize, usize)>,
    /// Direction: `write` or `read`.
    pub direction: &'static str,
    /// Number of ranks with data in one call.
    pub ranks: u64,
    /// Number of requests of all ranks in one call.
    pub requests: u64,
    /// Number of bytes that all ranks wrote, or read, in one call.
    pub bytes: u64,
    /// Number of contiguous pieces of memory of all ranks in one call.
    pub memory_pieces: u64,
    /// Path of the calls, as in reports, or `failed`.
    pub path: String,
    /// Reason for the path, or the error of failed calls.
    pub why: String,
    /// Number of calls that reused the plan of an earlier call.
    pub plans_reused: usize,
    /// Number of aggregators in the first call.
    pub aggregators: usize,
    /// Maximum over aggregators and calls of the number of windows with data.
    pub rounds: u64,
    /// Number of messages with lists of extents, in all calls.
    pub metadata_messages: u64,
    /// Number of messages with data, in all calls.
    pub data_messages: u64,
    /// Number of bytes of the messages with lists of extents, in all calls.
    pub metadata_bytes: u64,
    /// Time of each phase in seconds, summed over calls.
    pub seconds: Seconds,
    /// Time from the arrival of the first rank to the departure of the last rank, in seconds, summed over calls.
    pub lasted: f64,
    /// Time that the other ranks waited for the last rank, in seconds: the mean over these ranks, summed over calls.
    pub waited: f64,
}

impl Kind {
    fn of(call: &CallAccount) -> Self {
        let report = call.report.clone().unwrap_or_default();
        let mut kind = Self {
            first: call.call,
            count: 0,
            ranges: Vec::new(),
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
        match self.ranges.last_mut() {
            Some((_, last)) if *last + 1 == call.call => *last = call.call,
            _ => self.ranges.push((call.call, call.call)),
        }
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

    /// Returns the numbers of the calls as text, for example `3 to 7`, or `3 to 7, 9 and 20 more`.
    pub fn calls(&self) -> String {
        let range = |&(first, last): &(usize, usize)| match first == last {
            true => first.to_string(),
            false => format!("{first} to {last}"),
        };
        let shown = &self.ranges[..self.ranges.len().min(RANGES)];
        let counted: usize = shown.iter().map(|(first, last)| last - first + 1).sum();
        let text = shown.iter().map(range).collect::<Vec<_>>().join(", ");
        match self.count - counted {
            0 => text,
            more => format!("{text} and {} more", grouped(more as u64)),
        }
    }
}

/// Groups calls that are alike, in the order of the first call of each kind. O(calls x kinds).
pub fn kinds(calls: &[CallAccount]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for call in calls {
        match kinds.iter_mut().find(|kind| kind.is_like(call)) {
            Some(kind) => kind.add(call),
            None => kinds.push(Kind::of(call)),
        }
    }
    kinds
}
