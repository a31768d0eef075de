//! Each call: when ranks came to it, how long it took, and who waited for whom.

use serde::Serialize;
use tributary::engine::CallReport;
use tributary::engine::capture::{Call, CallOutcome};
use tributary::{BufferLayout, Rank};

/// One collective call. Times are in seconds, from the end of the open on each rank.
#[derive(Debug, Clone, Serialize)]
pub struct CallAccount {
    /// Its number, from 0 on.
    pub call: usize,
    /// `write` or `read`.
    pub direction: &'static str,
    /// Ranks with data.
    pub ranks: u64,
    /// Requests of all ranks.
    pub requests: u64,
    /// Bytes of all ranks.
    pub bytes: u64,
    /// Pieces in which they lie in memory.
    pub memory_pieces: u64,
    /// Bytes of ranks that have theirs in one piece of memory.
    pub contiguous_bytes: u64,
    /// When the first rank came.
    pub start: f64,
    /// When the last rank came.
    pub last_start: f64,
    /// When the last rank left.
    pub end: f64,
    /// The rank that came last.
    pub last_rank: Rank,
    /// How much later it came than the median of all ranks.
    pub late: f64,
    /// How much later it came than the one before it.
    pub late_alone: f64,
    /// How much later than the median it had left the call before; 0 for the first call.
    pub left_late: f64,
    /// The rank that took the longest from when all had come to its end, and how long.
    pub slowest: (Rank, f64),
    /// What the other ranks waited for it, on average over them.
    pub waited: f64,
    /// What rank 0 learned of it.
    pub report: Option<CallReport>,
    /// The error, if it failed.
    pub error: Option<String>,
}

/// When a rank came to a call, and when it left.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Visit {
    /// In seconds.
    pub start: f64,
    /// In seconds.
    pub end: f64,
}

impl Visit {
    /// Of a call.
    pub fn of(call: &Call) -> Self {
        let start = call.start.as_secs_f64();
        Self { start, end: start + call.took.as_secs_f64() }
    }

    /// What it waited for a rank that came then. A rank that had left by then has not waited for it: ranks that read or write
    /// each their own may do so.
    pub fn waits(&self, last_start: f64) -> f64 {
        if self.end > last_start { last_start - self.start } else { 0.0 }
    }
}

impl CallAccount {
    /// A call that no rank has been added to.
    pub fn new(outcome: &CallOutcome, call: &Call, number: usize) -> Self {
        let (report, error) = (outcome.report.clone(), outcome.error.clone());
        Self {
            call: number,
            direction: call.direction.name(),
            ranks: 0,
            requests: 0,
            bytes: 0,
            memory_pieces: 0,
            contiguous_bytes: 0,
            start: f64::INFINITY,
            last_start: 0.0,
            end: 0.0,
            last_rank: 0,
            late: 0.0,
            late_alone: 0.0,
            left_late: 0.0,
            slowest: (0, 0.0),
            waited: 0.0,
            report,
            error,
        }
    }

    /// Adds what a rank did.
    pub fn add(&mut self, call: &Call) {
        self.ranks += u64::from(call.file.count() > 0);
        self.requests += call.file.count();
        self.bytes += call.file.bytes();
        let pieces = match &call.memory {
            BufferLayout::Contiguous => u64::from(call.file.count() > 0),
            BufferLayout::Extents(extents) => extents.count(),
        };
        self.memory_pieces += pieces;
        self.contiguous_bytes += if pieces <= 1 { call.file.bytes() } else { 0 };
    }

    /// Sets who came when, from all ranks' visits to this call and to the one before. O(ranks log ranks).
    pub fn set_times(&mut self, visits: &[Visit], before: Option<&[Visit]>) {
        let mut starts: Vec<(f64, Rank)> = visits.iter().map(|visit| visit.start).zip(0..).collect();
        starts.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
        let Some(&(last_start, last_rank)) = starts.last() else { return };
        let median = starts[(starts.len() - 1) / 2].0;
        (self.start, self.last_start, self.last_rank) = (starts[0].0, last_start, last_rank);
        self.late = last_start - median;
        self.late_alone = starts.iter().rev().nth(1).map_or(0.0, |second| last_start - second.0);
        self.left_late = before.map_or(0.0, |before| {
            let mut ends: Vec<f64> = before.iter().map(|visit| visit.end).collect();
            ends.sort_by(f64::total_cmp);
            before[last_rank].end - ends[(ends.len() - 1) / 2]
        });
        for (rank, visit) in visits.iter().enumerate() {
            let worked = visit.end - last_start;
            if worked > self.slowest.1 {
                self.slowest = (rank, worked);
            }
            self.waited += visit.waits(last_start) / visits.len().saturating_sub(1).max(1) as f64;
        }
        self.end = visits.iter().map(|visit| visit.end).fold(self.last_start, f64::max);
    }

    /// From the first rank's start to the last rank's end.
    pub fn lasted(&self) -> f64 {
        self.end - self.start
    }

    /// Whether ranks waited for the last one to come for more than half of the time.
    pub fn is_of_waiting(&self) -> bool {
        self.waited > 0.5 * self.lasted()
    }

    /// Which way it went, as reports say it.
    pub fn path(&self) -> String {
        self.report.as_ref().map_or("failed".to_string(), |report| report.path.to_string())
    }

    /// Why it went that way; or the error.
    pub fn why(&self) -> String {
        self.report.as_ref().map_or(self.error.clone().unwrap_or_default(), |report| report.why().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> CallAccount {
        let direction = tributary::engine::Direction::Write;
        let call = Call {
            direction,
            failed: false,
            file: tributary::Extents::empty(),
            memory: BufferLayout::Contiguous,
            start: std::time::Duration::ZERO,
            took: std::time::Duration::ZERO,
        };
        let outcome = CallOutcome { call: 0, direction: "write".to_string(), report: None, error: None };
        CallAccount::new(&outcome, &call, 0)
    }

    fn visits<const N: usize>(times: [(f64, f64); N]) -> [Visit; N] {
        times.map(|(start, end)| Visit { start, end })
    }

    #[test]
    fn the_last_rank_keeps_the_others_waiting() {
        let mut call = call();
        let before = visits([(0.0, 1.0), (0.0, 1.0), (0.0, 3.0)]);
        call.set_times(&visits([(1.0, 6.0), (1.5, 6.0), (5.0, 6.5)]), Some(&before));
        assert_eq!((call.last_rank, call.last_start, call.start, call.end), (2, 5.0, 1.0, 6.5));
        assert_eq!((call.late, call.late_alone, call.left_late, call.waited), (3.5, 3.5, 2.0, 3.75));
        assert_eq!(call.slowest, (2, 1.5));
        assert!(call.is_of_waiting());
    }

    #[test]
    fn who_has_left_does_not_wait() {
        let mut call = call();
        call.set_times(&visits([(0.0, 1.0), (4.0, 5.0)]), None);
        assert_eq!((call.waited, call.left_late), (0.0, 0.0));
    }
}
