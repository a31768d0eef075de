//! The report of a collective call: numbers over all ranks, the same on each.

use std::borrow::Cow;
use std::fmt::{Display, Formatter};
use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::direction::Direction;
use crate::engine::facts::Amount;
use crate::engine::facts::agreed::Agreed;
use crate::engine::policy::decision::Decision;
use crate::engine::policy::paths::{Path, Way};
use crate::engine::policy::reason::Reason;
use crate::engine::roles::auto_choice::AutoChoice;

/// Seconds of each phase: the most of any rank (file I/O overlaps the exchange, so the parts may exceed the total).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Dividing the access by aggregator.
    pub flatten: f64,
    /// Metadata exchange.
    pub metadata: f64,
    /// Data exchange, packing included.
    pub data: f64,
    /// Copying into windows.
    pub placement: f64,
    /// I/O in the file system.
    pub io: f64,
    /// Agreement on ranges, errors and these numbers.
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

/// One collective call. In JSON its `why` says in words what [`CallReport::why`] prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct CallReport {
    /// The path of the bytes.
    pub path: Path,
    /// Why this path was chosen.
    #[serde(default, skip_serializing_if = "Reason::is_unknown")]
    pub reason: Reason,
    /// What `auto` took, in an exchange that the hints leave to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoChoice>,
    /// Reason and kernels in words, where they are not known as values: of a capture that has the words only.
    #[serde(default, rename = "why")]
    pub told: Option<Cow<'static, str>>,
    /// Whether the plan of an earlier call, with its flattened lists and metadata, was reused.
    pub plan_reused: bool,
    /// Number of aggregators.
    pub aggregators: usize,
    /// Number of extents, as the ranks passed them.
    pub requests: u64,
    /// Bytes to write or read.
    pub bytes: u64,
    /// Bytes written to the file. Bytes that several ranks write count once.
    pub bytes_written: u64,
    /// Bytes read: those before the end of the file.
    pub bytes_read: u64,
    /// Most windows with data on any aggregator.
    pub rounds: u64,
    /// Bytes of metadata messages.
    pub metadata_bytes: u64,
    /// Messages of the metadata phase.
    pub metadata_messages: u64,
    /// Messages of the data phase.
    pub data_messages: u64,
    /// Bytes of lists and data that members and local aggregators exchanged through shared memory; 0 without `two_layer`, or
    /// if members send messages.
    pub in_memory: u64,
    /// Bytes of the messages of both phases that went from one host to another. (Little data that comes with the first agreement
    /// is not counted.)
    #[serde(default)]
    pub between_hosts: u64,
    /// Time by phase.
    pub seconds: Seconds,
}

impl CallReport {
    /// The report of a call of all these bytes, of which so many were written or read, on the path of this way.
    pub(in crate::engine) fn of(
        direction: Direction,
        Decision { way, reason, .. }: Decision,
        all: &Amount,
        transferred: u64,
    ) -> Self {
        let (bytes_written, bytes_read) = match direction {
            Direction::Write => (transferred, 0),
            Direction::Read => (0, transferred),
        };
        let (path, requests, bytes) = (way.path(), all.requests, all.bytes);
        Self { path, reason, requests, bytes, bytes_written, bytes_read, ..Self::default() }
    }

    /// The report of a call that ends with the first agreement.
    pub(in crate::engine) fn of_agreed(agreed: &Agreed, direction: Direction, total: Duration) -> Self {
        let (io, total) = (agreed.micros as f64 / 1e6, total.as_secs_f64());
        Self {
            aggregators: usize::from(matches!(agreed.decision.way, Way::Root | Way::Slots)),
            seconds: Seconds { io, agreement: (total - io).max(0.0), total, ..Seconds::default() },
            ..Self::of(direction, agreed.decision, &agreed.all, agreed.transferred)
        }
    }

    /// Why this path was chosen, and in an exchange the kernels, in words for people.
    pub fn why(&self) -> Why<'_> {
        Why { reason: self.reason, auto: self.auto, told: self.told.as_deref() }
    }
}

/// Why a call went as it did: prints the reason of its path, and the kernels if they are not the usual ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Why<'a> {
    /// See [`CallReport`], like the others.
    pub reason: Reason,
    /// The kernels.
    pub auto: Option<AutoChoice>,
    /// Both in words.
    pub told: Option<&'a str>,
}

impl Display for Why<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match (self.told, self.auto.filter(|choice| !choice.is_usual())) {
            (Some(told), _) => f.write_str(told),
            (None, Some(choice)) => write!(f, "{}; {choice}", self.reason),
            (None, None) => self.reason.fmt(f),
        }
    }
}

impl Serialize for CallReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let told = Some(self.why().to_string().into());
        Self::serialize(&Self { told, ..self.clone() }, to)
    }
}

impl<'de> Deserialize<'de> for CallReport {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let report = Self::deserialize(from)?;
        let told = report.told.filter(|told| report.reason.is_unknown() && !told.is_empty());
        Ok(Self { told, ..report })
    }
}

/// Adds the numbers of another call: sums, but of aggregators and rounds the larger. What is said of one call (its path and
/// the reason, its kernels, whether it reused a plan) stays.
impl std::ops::AddAssign<&Self> for CallReport {
    fn add_assign(&mut self, other: &Self) {
        self.aggregators = self.aggregators.max(other.aggregators);
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.bytes_written += other.bytes_written;
        self.bytes_read += other.bytes_read;
        self.rounds = self.rounds.max(other.rounds);
        self.metadata_bytes += other.metadata_bytes;
        self.metadata_messages += other.metadata_messages;
        self.data_messages += other.data_messages;
        self.in_memory += other.in_memory;
        self.between_hosts += other.between_hosts;
        self.seconds += other.seconds;
    }
}

/// The number of ranks that an aggregator exchanged with in a round, itself included; over all aggregators and rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FanIn {
    /// The minimum.
    pub min: u32,
    /// The median (the lower of two).
    pub median: u32,
    /// The maximum.
    pub max: u32,
}

impl FanIn {
    /// The fan-in of pairs (fan-in, number of rounds), in any order.
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

/// A phase of a call that follows another one.
#[derive(Debug, Clone, Copy)]
pub enum Lap {
    /// See [`Seconds`].
    Flatten,
    /// See [`Seconds`].
    Metadata,
    /// See [`Seconds`].
    Agreement,
    /// What is counted elsewhere: the rounds, the direct path, the wait for writes.
    Elsewhere,
}

/// The stopwatch of a call.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    /// The end of the last lap.
    last: Instant,
    spent: [Duration; 4],
}

impl Clock {
    /// Starts the clock of a call.
    pub fn start() -> Self {
        let start = Instant::now();
        Self { start, last: start, spent: Default::default() }
    }

    /// Counts the time since the last lap for a phase.
    pub fn lap(&mut self, phase: Lap) {
        let now = Instant::now();
        self.spent[phase as usize] += now - std::mem::replace(&mut self.last, now);
    }

    /// Time in a phase so far.
    pub fn spent(&self, phase: Lap) -> Duration {
        self.spent[phase as usize]
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

    /// As JSON a report has the words, and the reason by name; what was captured without a name keeps its words.
    #[test]
    fn reasons_are_words_and_values() {
        let reason = Reason::SmallRequests { mean: 200, large: 16_384 };
        let report = CallReport { reason, ..CallReport::default() };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["why"], "requests of 200 bytes on average, less than 16384");
        assert_eq!(json["reason"], serde_json::json!({ "name": "small_requests", "mean": 200, "large": 16_384 }));
        let back = |json| serde_json::from_value::<CallReport>(json).unwrap();
        assert_eq!(back(json.clone()), report);
        for name in [serde_json::json!({ "name": "of_a_later_version", "mean": 1 }), serde_json::Value::Null] {
            let mut other = json.clone();
            other["reason"] = name;
            if other["reason"].is_null() {
                other.as_object_mut().unwrap().remove("reason");
            }
            let told = back(other);
            assert!(told.reason.is_unknown() && told.why().to_string() == report.why().to_string(), "{told:?}");
        }
        let on = Reason::Switch { direction: Direction::Read, on: true };
        assert_eq!(
            (on.to_string().as_str(), Reason::Small { bytes: 7 }.to_string().as_str()),
            ("romio_cb_read=enable", "only 7 bytes in total, so one aggregator does the I/O")
        );
    }
}
