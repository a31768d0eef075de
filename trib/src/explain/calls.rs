//! Times of each collective call: when ranks entered it, how long the call took, and who waited for whom.

use serde::Serialize;
use tributary::engine::CallReport;
use tributary::engine::capture::{Call, CallOutcome};
use tributary::{BufferLayout, Rank};

/// Totals and times of one collective call. Times are in seconds; points in time count from the end of the open on each
/// rank.
#[derive(Debug, Clone, Serialize)]
pub struct CallAccount {
    /// Number of the call on the file, from 0.
    pub call: usize,
    /// Direction: `write` or `read`.
    pub direction: &'static str,
    /// Number of ranks with data.
    pub ranks: u64,
    /// Number of requests (extents of the file) of all ranks.
    pub requests: u64,
    /// Number of bytes that all ranks wrote, or read.
    pub bytes: u64,
    /// Number of contiguous pieces of memory of all ranks.
    pub memory_pieces: u64,
    /// Number of bytes of the ranks whose data is in one piece of memory.
    pub contiguous_bytes: u64,
    /// Time when the first rank entered the call.
    pub start: f64,
    /// Time when the last rank entered the call.
    pub last_start: f64,
    /// Time when the last rank returned from the call.
    pub end: f64,
    /// Rank that entered the call last.
    pub last_rank: Rank,
    /// Time by which the last rank entered the call later than the median of all ranks.
    pub late: f64,
    /// Time by which the last rank entered the call later than the second to last rank.
    pub late_alone: f64,
    /// Time by which this last rank had returned from the previous call later than the median of all ranks; 0 for the first call.
    pub left_late: f64,
    /// Rank that returned last, and the time from the arrival of the last rank until this rank returned.
    pub slowest: (Rank, f64),
    /// Time that the other ranks waited for the last rank: the mean over the other ranks.
    pub waited: f64,
    /// Report of the call, as rank 0 received it; `None` if there is none.
    pub report: Option<CallReport>,
    /// Error of the call, if the call failed.
    pub error: Option<String>,
}

/// Times when a rank entered a call and returned from it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Visit {
    /// Time when the rank entered the call, in seconds.
    pub start: f64,
    /// Time when the rank returned from the call, in seconds.
    pub end: f64,
}

impl Visit {
    /// Returns the times of one rank's call.
    pub fn of(call: &Call) -> Self {
        let start = call.start.as_secs_f64();
        Self { start, end: start + call.took.as_secs_f64() }
    }

    /// Returns the time that the rank waited for the last rank, which entered the call at `last_start`, in seconds. The time is
    /// 0 if the rank had returned before, which is possible if each rank accesses the file by itself.
    pub fn waits(&self, last_start: f64) -> f64 {
        if self.end > last_start { last_start - self.start } else { 0.0 }
    }
}

impl CallAccount {
    /// Returns the account of call `number`, before [`CallAccount::add`] adds the ranks.
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

    /// Adds one rank's call to the sums over all ranks.
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

    /// Computes the times from the visits of all ranks to this call and to the previous call. O(ranks log ranks).
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

    /// Returns the time from the arrival of the first rank to the departure of the last rank, in seconds.
    pub fn lasted(&self) -> f64 {
        self.end - self.start
    }

    /// Returns true if ranks waited for the last rank for more than half of the call's time.
    pub fn is_of_waiting(&self) -> bool {
        self.waited > 0.5 * self.lasted()
    }

    /// Returns the name of the call's path, as in reports; `failed` if there is no report.
    pub fn path(&self) -> String {
        self.report.as_ref().map_or("failed".to_string(), |report| report.path.to_string())
    }

    /// Returns the reason for the path, or the error of a failed call.
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
