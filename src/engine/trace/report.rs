//! The report of a collective call: its numbers over all ranks, the same on every rank.

use std::borrow::Cow;
use std::fmt::{Display, Formatter};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::trace::path::{AutoChoice, Path, Reason};

/// Time of each phase in seconds: the maximum over ranks. (File I/O overlaps the exchange, so the sum may exceed the
/// total.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Time to divide the access by aggregator.
    pub flatten: f64,
    /// Time of the metadata exchange.
    pub metadata: f64,
    /// Time of the data exchange, with packing. A rank waits in it while an aggregator that it sends to waits for the file.
    pub data: f64,
    /// Time to copy bytes into windows, or out of them.
    pub placement: f64,
    /// Time of I/O in the file system.
    pub io: f64,
    /// Time of agreements on ranges, errors and these numbers.
    pub agreement: f64,
    /// Time that a rank waited for the file: for its own reads and writes, or as an aggregator for windows that its worker
    /// thread reads and writes. A timeline does not have it.
    #[serde(default)]
    pub wait: f64,
    /// Time of the whole call.
    pub total: f64,
}

/// What limits calls: the file, or the exchange (all other work). Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limit {
    /// The one that takes longer.
    pub by: LimitedBy,
    /// Time of I/O in the file system, on the rank with the longest time.
    pub file: f64,
    /// Time of the calls in which the rank that waited longest for the file did not wait: lists, messages, copies,
    /// agreements.
    pub exchange: f64,
    /// Time of the calls divided by the longer of `file` and `exchange`. It is 1 if the shorter one overlaps the longer
    /// one completely, and 2 if both are equal and nothing overlaps.
    pub of_the_longer: f64,
}

/// Part of a call that can limit the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// Reads and writes in the file system.
    File,
    /// Lists, messages, copies and agreements.
    Exchange,
}

impl Seconds {
    /// Returns what limits calls that took these times; `None` without a call.
    pub fn limit(&self) -> Option<Limit> {
        let (file, exchange) = (self.io, (self.total - self.wait).max(0.0));
        let (by, longer) = if file >= exchange { (LimitedBy::File, file) } else { (LimitedBy::Exchange, exchange) };
        (longer > 0.0).then(|| Limit { by, file, exchange, of_the_longer: self.total / longer })
    }
}

impl std::ops::AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        self.flatten += other.flatten;
        self.metadata += other.metadata;
        self.data += other.data;
        self.placement += other.placement;
        self.io += other.io;
        self.agreement += other.agreement;
        self.wait += other.wait;
        self.total += other.total;
    }
}

/// The report of one collective call, the same on every rank. In JSON, `why` has the text of [`CallReport::why`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct CallReport {
    /// Path of the bytes, for example `exchange`.
    pub path: Path,
    /// Reason for the path.
    #[serde(default, skip_serializing_if = "Reason::is_unknown")]
    pub reason: Reason,
    /// Kernel that `auto` chose; `None` without an exchange, or if the hints leave no choice. Also says that two
    /// layers were not possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoChoice>,
    /// Text of reason and kernel; set only if a capture has the text but not the values.
    #[serde(default, rename = "why")]
    pub text: Option<Cow<'static, str>>,
    /// True if the call reused the plan of an earlier call, with flattened lists and metadata.
    pub plan_reused: bool,
    /// Number of aggregators.
    pub aggregators: usize,
    /// Number of extents of all ranks, as the ranks passed them.
    pub requests: u64,
    /// Number of bytes to write or read, of all ranks.
    pub bytes: u64,
    /// Number of bytes written to the file, by all ranks. Bytes that several ranks write count once.
    pub bytes_written: u64,
    /// Number of bytes read by all ranks, without bytes past the end of the file.
    pub bytes_read: u64,
    /// Maximum over aggregators of the number of windows with data.
    pub rounds: u64,
    /// Number of bytes of metadata messages, of all ranks.
    pub metadata_bytes: u64,
    /// Number of messages of the metadata phase, of all ranks.
    pub metadata_messages: u64,
    /// Number of messages of the data phase, of all ranks.
    pub data_messages: u64,
    /// Number of bytes of lists and data that members and local aggregators exchanged through shared memory; 0 without
    /// `two_layer`, or if the ranks of a node share no memory.
    pub in_memory: u64,
    /// Number of bytes of messages of both phases that went from one host to another. (Small data that comes with the
    /// first agreement is not counted.)
    #[serde(default)]
    pub between_hosts: u64,
    /// Time of each phase.
    pub seconds: Seconds,
    /// Expected times of the ways between which measured times decided; `None` if they decided nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedSeconds>,
}

/// Expected times in seconds of the two ways of a write of which each host has its own part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedSeconds {
    /// Aggregators write, and the ranks send them their bytes.
    pub exchange: f64,
    /// Each host writes its own part.
    pub hosts: f64,
    /// Time that the call took.
    pub took: f64,
}

impl std::ops::AddAssign for ExpectedSeconds {
    fn add_assign(&mut self, other: Self) {
        self.exchange += other.exchange;
        self.hosts += other.hosts;
        self.took += other.took;
    }
}

impl CallReport {
    /// Returns the text that explains the path of the call, and in an exchange the kernel.
    pub fn why(&self) -> Why<'_> {
        Why { reason: self.reason, auto: self.auto, text: self.text.as_deref() }
    }
}

/// Explains the path of a call when printed: the reason, and the kernel if it is not the usual one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Why<'a> {
    /// Reason for the path, as in [`CallReport`].
    pub reason: Reason,
    /// Kernel that `auto` chose, as in [`CallReport`].
    pub auto: Option<AutoChoice>,
    /// Text of both, as in [`CallReport`].
    pub text: Option<&'a str>,
}

impl Display for Why<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match (self.text, self.auto.filter(|choice| !choice.is_usual())) {
            (Some(text), _) => f.write_str(text),
            (None, Some(choice)) => write!(f, "{}; {choice}", self.reason),
            (None, None) => self.reason.fmt(f),
        }
    }
}

impl Serialize for CallReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let text = Some(self.why().to_string().into());
        Self::serialize(&Self { text, ..self.clone() }, to)
    }
}

impl<'de> Deserialize<'de> for CallReport {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let report = Self::deserialize(from)?;
        let text = report.text.filter(|text| report.reason.is_unknown() && !text.is_empty());
        Ok(Self { text, ..report })
    }
}

/// Adds the numbers of another call; takes the maximum of aggregators and rounds. Path, reason, kernel and
/// `plan_reused` stay those of the first call.
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
        if let Some(expected) = other.expected {
            *self.expected.get_or_insert_default() += expected;
        }
    }
}

/// Fan-in: the number of ranks that an aggregator exchanged data with in a round, itself included. Statistics over all
/// aggregators and rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FanIn {
    /// Minimum fan-in.
    pub min: u32,
    /// Median fan-in (the lower of two).
    pub median: u32,
    /// Maximum fan-in.
    pub max: u32,
}

impl FanIn {
    /// Computes the statistics of pairs (fan-in, number of rounds), in any order.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Direction;

    #[test]
    fn fan_in_of_counts() {
        assert_eq!(FanIn::of([]), FanIn::default());
        assert_eq!(FanIn::of([(4, 1), (2, 2), (9, 1)]), FanIn { min: 2, median: 2, max: 9 });
        assert_eq!(FanIn::of([(4, 2), (2, 1)]), FanIn { min: 2, median: 4, max: 4 });
    }

    #[test]
    fn the_longer_of_file_and_exchange_is_the_limit() {
        let limit = |io, wait, total| Seconds { io, wait, total, ..Seconds::default() }.limit();
        let file = Limit { by: LimitedBy::File, file: 4.0, exchange: 3.0, of_the_longer: 1.25 };
        assert_eq!(limit(4.0, 2.0, 5.0), Some(file));
        let exchange = Limit { by: LimitedBy::Exchange, file: 1.0, exchange: 4.5, of_the_longer: 5.0 / 4.5 };
        assert_eq!(limit(1.0, 0.5, 5.0), Some(exchange));
        // The maxima may come from different ranks.
        assert_eq!(limit(5.0, 5.5, 5.0).map(|limit| limit.exchange), Some(0.0));
        assert_eq!(limit(0.0, 0.0, 0.0), None);
    }

    /// In JSON, a report has the text and the name of the reason; a report captured without a name keeps its text.
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
            let text = back(other);
            assert!(text.reason.is_unknown() && text.why().to_string() == report.why().to_string(), "{text:?}");
        }
        let on = Reason::Switch { direction: Direction::Read, on: true };
        assert_eq!(
            (on.to_string().as_str(), Reason::Small { bytes: 7 }.to_string().as_str()),
            ("romio_cb_read=enable", "only 7 bytes in total, so one aggregator does the I/O")
        );
    }
}
