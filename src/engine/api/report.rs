//! What a collective call did, in numbers: agreed over all ranks, the same on each.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How a call goes to the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// Two phases.
    Exchange,
    /// Through memory that all ranks share.
    Shared,
    /// To rank 0, with the agreement: it wrote all.
    Root,
    /// Every rank writes, or reads, its own extents.
    Direct,
    /// There was nothing to write, or to read.
    #[default]
    Nothing,
}

impl Path {
    /// As reports say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Shared => "shared",
            Self::Root => "root",
            Self::Direct => "direct",
            Self::Nothing => "nothing",
        }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Seconds of each phase: the most of any rank (file I/O overlaps the exchange, so the parts may exceed the total).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Cutting the access by aggregator.
    pub flatten: f64,
    /// Metadata exchange.
    pub metadata: f64,
    /// Data exchange, packing included.
    pub data: f64,
    /// Copying into windows.
    pub placement: f64,
    /// In the file system.
    pub io: f64,
    /// Agreeing on ranges, errors and these numbers.
    pub agreement: f64,
    /// From start to end.
    pub total: f64,
}

impl std::ops::AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        self.flatten += other.flatten;
        self.metadata += other.metadata;
        self.data += other.data;
        self.placement += other.placement;
        self.io += other.io;
        self.agreement += other.agreement;
        self.total += other.total;
    }
}

/// One collective call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallReport {
    /// Which way the bytes went.
    pub path: Path,
    /// Why.
    pub why: Cow<'static, str>,
    /// Whether flattening, plan and metadata of the call before were used again.
    pub plan_reused: bool,
    /// Aggregators of this call.
    pub aggregators: usize,
    /// Extents, as the ranks gave them.
    pub requests: u64,
    /// Bytes asked to be written, or read.
    pub bytes: u64,
    /// Bytes that are in the file (bytes that ranks write twice count once).
    pub bytes_written: u64,
    /// Bytes that were read: those that lie before the end of the file.
    pub bytes_read: u64,
    /// The most windows with data that any aggregator had.
    pub rounds: u64,
    /// Bytes of metadata messages.
    pub metadata_bytes: u64,
    /// Messages of the metadata phase.
    pub metadata_messages: u64,
    /// Messages of the data phase.
    pub data_messages: u64,
    /// Bytes of lists and of data that went from member to local aggregator, or back, through memory of their node: 0 where the
    /// inner layer of `two_layer` is messages, or there is none.
    pub in_memory: u64,
    /// Time by phase.
    pub seconds: Seconds,
}

/// How many ranks an aggregator exchanged with in a round, itself included; over all aggregators and rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FanIn {
    /// The least.
    pub min: u32,
    /// The median (the lower of two).
    pub median: u32,
    /// The most.
    pub max: u32,
}

impl FanIn {
    /// From (fan-in, how often), in any order.
    pub fn of(counts: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut counts: Vec<_> = counts.into_iter().filter(|(_, times)| *times > 0).collect();
        counts.sort_unstable();
        let total: u64 = counts.iter().map(|(_, times)| times).sum();
        let mut before = 0;
        let middle = counts.iter().find(|(_, times)| {
            before += times;
            before * 2 >= total
        });
        let value = |entry: Option<&(u32, u64)>| entry.map_or(0, |(fan_in, _)| *fan_in);
        Self { min: value(counts.first()), median: value(middle), max: value(counts.last()) }
    }
}

/// A stopwatch for one phase among several that take turns.
#[derive(Debug)]
pub struct Lap {
    /// When the clock started, and how many nanoseconds later the last lap of any phase was.
    start: Instant,
    last: Arc<AtomicU64>,
    /// Time so far.
    pub spent: Duration,
}

impl Lap {
    /// Adds the time since the last lap of any phase of the clock.
    pub fn lap(&mut self) {
        let now = self.start.elapsed().as_nanos() as u64;
        self.spent += Duration::from_nanos(now.saturating_sub(self.last.load(Ordering::Relaxed)));
        self.last.store(now, Ordering::Relaxed);
    }
}

/// The phases of one call that follow one another.
#[derive(Debug)]
pub struct Clock {
    /// See [`Seconds`].
    pub flatten: Lap,
    /// See [`Seconds`].
    pub metadata: Lap,
    /// See [`Seconds`].
    pub agreement: Lap,
    /// What is counted by itself: the rounds, the direct path, waiting for writes.
    pub elsewhere: Lap,
    start: Instant,
}

impl Clock {
    /// Starts.
    pub fn start() -> Self {
        let start = Instant::now();
        let last = Arc::default();
        let lap = || Lap { start, last: Arc::clone(&last), spent: Duration::ZERO };
        Self { flatten: lap(), metadata: lap(), agreement: lap(), elsewhere: lap(), start }
    }

    /// Time since the start.
    pub fn total(&self) -> Duration {
        self.start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fan_in_of_counts() {
        assert_eq!(FanIn::of([]), FanIn::default());
        assert_eq!(FanIn::of([(4, 1), (2, 2), (9, 1)]), FanIn { min: 2, median: 2, max: 9 });
        assert_eq!(FanIn::of([(4, 2), (2, 1)]), FanIn { min: 2, median: 4, max: 4 });
    }
}
