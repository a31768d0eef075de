//! Counts the calls on a file for the report: calls that the engine ran, and calls that the MPI library ran with the
//! reasons.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tributary::CallReport;
use tributary::engine::capture::{IndependentCalls, LeftCalls, NotCaptured};
use tributary::engine::{AutoChoice, ExpectedSeconds, Path, Reason, Seconds, Why};

use crate::file::failures::Failures;
use crate::file::gain::how;

/// Calls of one function that the engine ran.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// Number of calls; a collective call counts once.
    pub calls: u64,
    /// Number of bytes that all ranks together moved.
    pub bytes: u64,
    /// Seconds of the calls: of the slowest rank in each call, added up.
    pub seconds: f64,
}

/// Numbers of extents, messages and bytes in the engine's calls, over all ranks.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct ExchangeTotals {
    /// Number of extents (contiguous pieces of the file) that all ranks asked for.
    pub requests: u64,
    /// Number of messages in which ranks sent their access lists to aggregators.
    pub metadata_messages: u64,
    /// Number of bytes of the metadata messages.
    pub metadata_bytes: u64,
    /// Number of messages that carried file data.
    pub data_messages: u64,
    /// Number of bytes moved by calls that exchanged data by messages, including bytes that a rank keeps itself.
    pub data_bytes: u64,
    /// Number of bytes that went through shared memory inside a host.
    pub in_memory: u64,
    /// Number of bytes of messages, with metadata or data, that went from one host to another.
    pub between_hosts: u64,
}

/// Calls of one function that were left to the MPI library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftToMpi {
    /// Name of the function.
    pub call: Cow<'static, str>,
    /// The reason why MPI ran these calls.
    pub why: String,
    /// Number of calls. A collective call counts once; calls of other functions are added up over all ranks.
    pub calls: u64,
    /// Bytes and seconds of calls that are not collective, over all ranks.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
}

/// Bytes and seconds of the calls of one function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Number of bytes that the program asked for, in calls that succeeded.
    pub bytes: u64,
    /// Seconds of the calls of all ranks, added up.
    pub seconds: f64,
    /// Number of bytes of the smallest call that succeeded, of the median and of the largest, each rounded down to a power
    /// of two; the exact number if it is the same in all calls.
    pub sizes: [u64; 3],
}

impl Moved {
    /// Returns the sum of two, each with its number of calls. The median is that of the one with more calls.
    pub fn sum((one, calls): (Option<Self>, u64), (other, others): (Option<Self>, u64)) -> Option<Self> {
        let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
        let median = if calls < others { other.sizes[1] } else { one.sizes[1] };
        Some(Self {
            bytes: one.bytes + other.bytes,
            seconds: one.seconds + other.seconds,
            sizes: [one.sizes[0].min(other.sizes[0]), median, one.sizes[2].max(other.sizes[2])],
        })
    }
}

/// Number of classes of sizes of calls: class 0 is for 0 bytes, class k for 2^(k - 1) bytes and more; the last one has no end.
const CLASSES: usize = 33;

/// Times and sizes of the calls of one function: the microseconds of all calls; the number of the calls that succeeded, their
/// bytes, and their number in each class of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taken {
    calls: u64,
    bytes: u64,
    microseconds: u64,
    classes: [u64; CLASSES],
}

/// Number of integers in an encoded [`Taken`].
const TAKEN: usize = 3 + CLASSES;

impl Default for Taken {
    fn default() -> Self {
        Self::from_numbers([0; TAKEN])
    }
}

impl Taken {
    fn add(&mut self, bytes: Option<u64>, took: Duration) {
        self.microseconds += took.as_micros() as u64;
        if let Some(bytes) = bytes {
            self.calls += 1;
            self.bytes += bytes;
            self.classes[(bytes.checked_ilog2().map_or(0, |log| log as usize + 1)).min(CLASSES - 1)] += 1;
        }
    }

    fn sum(&mut self, other: Self) {
        let mut sums = self.to_numbers();
        sums.iter_mut().zip(other.to_numbers()).for_each(|(sum, more)| *sum += more);
        *self = Self::from_numbers(sums);
    }

    fn to_numbers(self) -> [u64; TAKEN] {
        let mut numbers = [self.calls; TAKEN];
        [numbers[1], numbers[2]] = [self.bytes, self.microseconds];
        numbers[3..].copy_from_slice(&self.classes);
        numbers
    }

    fn from_numbers([calls, bytes, microseconds, classes @ ..]: [u64; TAKEN]) -> Self {
        Self { calls, bytes, microseconds, classes }
    }

    fn moved(&self) -> Moved {
        let class_of = |call: u64| {
            let mut before = 0;
            let class = self.classes.iter().position(|calls| {
                before += calls;
                before > call
            });
            class.filter(|class| *class > 0).map_or(0, |class| 1 << (class - 1))
        };
        let [least, largest] = [0, self.calls.saturating_sub(1)].map(class_of);
        let sizes = match self.bytes.checked_div(self.calls) {
            Some(each) if least == largest && each * self.calls == self.bytes => [each; 3],
            _ => [least, class_of(self.calls / 2), largest],
        };
        Moved { bytes: self.bytes, seconds: self.microseconds as f64 / 1e6, sizes }
    }
}

/// Returns the name under which a function is counted: a function with a large count (`_c`) counts as the one without.
fn counted(call: &'static str) -> &'static str {
    call.strip_suffix("_c").unwrap_or(call)
}

/// Functions that are not collective, and the reason why MPI runs them.
const INDEPENDENT: [(&str, &str); 12] = [
    ("read", NOT_COLLECTIVE),
    ("read_at", NOT_COLLECTIVE),
    ("write", NOT_COLLECTIVE),
    ("write_at", NOT_COLLECTIVE),
    ("iread", NOT_COLLECTIVE),
    ("iread_at", NOT_COLLECTIVE),
    ("iwrite", NOT_COLLECTIVE),
    ("iwrite_at", NOT_COLLECTIVE),
    ("read_shared", SHARED_POINTER),
    ("write_shared", SHARED_POINTER),
    ("iread_shared", SHARED_POINTER),
    ("iwrite_shared", SHARED_POINTER),
];

/// Returns true if a function is one of [`INDEPENDENT`].
fn is_independent(call: &str) -> bool {
    INDEPENDENT.iter().any(|(name, _)| call == *name)
}

/// Reason in reports why MPI runs a call that is not collective.
pub const NOT_COLLECTIVE: &str = "independent";
/// Reason in reports why MPI runs a call at the shared file pointer.
pub const SHARED_POINTER: &str = "shared file pointer";

/// Counts of the calls on one file.
#[derive(Debug, Default)]
pub struct CallCounts {
    /// Calls that the engine ran, by function.
    pub ran: BTreeMap<&'static str, Ran>,
    left_to_mpi: BTreeMap<(&'static str, String), u64>,
    /// Times and sizes of the calls of each function, whoever ran them; only if a report is wanted.
    taken: BTreeMap<&'static str, Taken>,
    paths: HashMap<(Path, Reason, Option<AutoChoice>), u64>,
    /// Times, extents, messages and bytes of all calls that the engine ran, added up.
    sum: CallReport,
    exchanged_bytes: u64,
    /// Number of calls that reused the plan of the call before.
    pub plans_reused: u64,
    /// Number of independent calls of this rank through this library's own handle of the file.
    pub past_cache: u64,
    /// Failed calls, and the errors that this rank has printed.
    pub failures: Failures,
}

impl CallCounts {
    /// Counts a call of the function `call` that the engine ran.
    pub fn ran(&mut self, call: &'static str, report: &CallReport) {
        let ran = self.ran.entry(counted(call)).or_default();
        ran.calls += 1;
        ran.bytes += report.bytes;
        ran.seconds += report.seconds.total;
        *self.paths.entry((report.path, report.reason, report.auto)).or_default() += 1;
        self.sum += report;
        self.exchanged_bytes += if report.path == Path::Exchange { report.bytes } else { 0 };
        self.plans_reused += u64::from(report.plan_reused);
    }

    /// Counts a call of the function `call` that the MPI library runs for the reason `why`.
    pub fn left_to_mpi(&mut self, call: &'static str, why: &str) {
        *self.left_to_mpi.entry((counted(call), why.to_string())).or_default() += 1;
    }

    /// Counts the time `took` and the bytes of a call of the function `call`, whoever ran it. `bytes` is None if the call failed.
    pub fn took(&mut self, call: &'static str, bytes: Option<u64>, took: Duration) {
        self.taken.entry(counted(call)).or_default().add(bytes, took);
    }

    /// Returns the number of this rank's calls of each function of [`INDEPENDENT`], with their times and sizes, in the order
    /// of that table.
    pub fn independent(&self) -> Vec<u64> {
        let of_function = |(name, reason): (&'static str, &str)| {
            let mut numbers = [0; TAKEN + 1];
            numbers[0] = self.left_to_mpi.get(&(name, reason.to_string())).copied().unwrap_or(0);
            numbers[1..].copy_from_slice(&self.taken.get(name).copied().unwrap_or_default().to_numbers());
            numbers
        };
        INDEPENDENT.into_iter().flat_map(of_function).collect()
    }

    /// Replaces this rank's counts of the functions of [`INDEPENDENT`] by the sums of all ranks.
    pub fn set_independent(&mut self, sums: &[u64]) {
        self.left_to_mpi.retain(|(call, _), _| !is_independent(call));
        self.taken.retain(|call, _| !is_independent(call));
        for ((call, why), sums) in INDEPENDENT.into_iter().zip(sums.chunks_exact(TAKEN + 1)) {
            if let [calls, taken @ ..] = sums
                && *calls > 0
                && let Ok(taken) = taken.try_into().map(Taken::from_numbers)
            {
                self.left_to_mpi.insert((call, why.to_string()), *calls);
                self.taken.insert(call, taken);
            }
        }
    }

    /// Adds the independent calls of another handle of this rank, and removes them there.
    pub fn take_independent(&mut self, other: &mut Self) {
        let (moved, kept) =
            std::mem::take(&mut other.left_to_mpi).into_iter().partition(|((call, _), _)| is_independent(call));
        other.left_to_mpi = kept;
        BTreeMap::into_iter(moved).for_each(|(key, calls)| *self.left_to_mpi.entry(key).or_default() += calls);
        let (moved, kept) = std::mem::take(&mut other.taken).into_iter().partition(|(call, _)| is_independent(call));
        other.taken = kept;
        for (call, more) in BTreeMap::into_iter(moved) {
            self.taken.entry(call).or_default().sum(more);
        }
    }

    /// Returns the calls that the MPI library ran, by function and reason.
    pub fn all_left_to_mpi(&self) -> Vec<LeftToMpi> {
        let left = |((call, why), &calls): (&(&'static str, String), &u64)| {
            let moved = self.taken.get(call).filter(|_| is_independent(call)).map(Taken::moved);
            LeftToMpi { call: Cow::Borrowed(call), why: why.clone(), calls, moved }
        };
        self.left_to_mpi.iter().map(left).collect()
    }

    /// Returns the independent calls of this rank; after [`CallCounts::set_independent`], those of all ranks.
    pub fn independent_calls(&self) -> Vec<IndependentCalls> {
        let all = self.all_left_to_mpi();
        let of_function = |LeftToMpi { call, calls, moved, .. }: &LeftToMpi| {
            let Moved { bytes, seconds, sizes } = (*moved)?;
            let microseconds = (seconds * 1e6).round() as u64;
            Some(IndependentCalls { function: call.to_string(), calls: *calls, bytes, microseconds, sizes })
        };
        all.iter().filter_map(of_function).collect()
    }

    /// Returns the calls of this rank that a capture does not hold and that are not independent.
    pub fn not_captured(&self) -> NotCaptured {
        let all = self.all_left_to_mpi();
        let left = all.into_iter().filter(|left| left.moved.is_none());
        let left = left.map(|LeftToMpi { call, why, calls, .. }| LeftCalls { function: call.to_string(), why, calls });
        let others = self.other_calls().into_iter().map(|(call, seconds)| (call.to_string(), seconds));
        let how = how().into_iter().map(str::to_string);
        NotCaptured { left: left.collect(), others: others.collect(), how: how.collect() }
    }

    /// Returns the seconds of this rank in each function that neither reads nor writes, the longest first.
    pub fn other_calls(&self) -> Vec<(&'static str, f64)> {
        let moves = |call: &str| call.contains("read") || call.contains("write");
        let others = self.taken.iter().filter(|(call, _)| !moves(call));
        let mut others: Vec<_> = others.map(|(call, taken)| (*call, taken.microseconds as f64 / 1e6)).collect();
        others.sort_by(|one, other| other.1.total_cmp(&one.1));
        others
    }

    /// Returns the number of calls for each path and reason, as text. `word` returns the name of a path.
    pub fn paths(&self, word: fn(Path) -> &'static str) -> BTreeMap<String, u64> {
        let mut paths = BTreeMap::new();
        for (&(path, reason, auto), &calls) in &self.paths {
            *paths.entry(format!("{}: {}", word(path), Why { reason, auto, text: None })).or_default() += calls;
        }
        paths
    }

    /// Returns true if any call exchanged data by messages.
    pub fn has_exchanged(&self) -> bool {
        self.paths.keys().any(|(path, ..)| *path == Path::Exchange)
    }

    /// Returns the seconds that all calls of the engine took, by phase.
    pub fn seconds(&self) -> Seconds {
        self.sum.seconds
    }

    /// Returns the expected times of the calls between whose ways measured times decided; None if there were none.
    pub fn expected(&self) -> Option<ExpectedSeconds> {
        self.sum.expected
    }

    /// Returns the extents, messages and bytes of all calls of the engine.
    pub fn traffic(&self) -> ExchangeTotals {
        let CallReport { requests, metadata_messages, metadata_bytes, data_messages, in_memory, between_hosts, .. } =
            self.sum;
        let data_bytes = self.exchanged_bytes;
        ExchangeTotals {
            requests,
            metadata_messages,
            metadata_bytes,
            data_messages,
            data_bytes,
            in_memory,
            between_hosts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_ranks_by_themselves_add_up() {
        let mut ranks = [CallCounts::default(), CallCounts::default()];
        for (rank, sizes) in [&[4, 4, 100][..], &[5000]].into_iter().enumerate() {
            for &bytes in sizes {
                ranks[rank].left_to_mpi("write_at", NOT_COLLECTIVE);
                ranks[rank].took("write_at", Some(bytes), Duration::from_millis(2));
            }
            ranks[rank].took("set_view", Some(0), Duration::from_millis(3));
        }
        // A function with a large count is none of its own.
        ranks[0].left_to_mpi("write_at_c", NOT_COLLECTIVE);
        let [mut first, mut second] = ranks;
        // A call that fails has a time and no size.
        second.took("write_at", None, Duration::from_millis(2));
        let sums: Vec<u64> = first.independent().iter().zip(second.independent()).map(|(one, two)| one + two).collect();
        first.set_independent(&sums);
        let [left] = &first.all_left_to_mpi()[..] else { panic!("one function") };
        assert_eq!((&*left.call, left.calls), ("write_at", 5));
        assert_eq!(left.moved, Some(Moved { bytes: 5108, seconds: 0.010, sizes: [4, 64, 4096] }));
        assert_eq!(first.other_calls(), [("set_view", 0.003)]);
        assert_eq!(second.all_left_to_mpi()[0].moved.map(|moved| moved.sizes), Some([5000; 3]));
        second.take_independent(&mut first);
        assert_eq!(
            (second.all_left_to_mpi()[0].calls, first.all_left_to_mpi().len()),
            (6, 0),
            "those of the other handle"
        );
        assert_eq!(first.other_calls(), [("set_view", 0.003)]);
    }

    #[test]
    fn calls_without_bytes_have_the_size_0() {
        let mut counts = CallCounts::default();
        for bytes in [0, 0, 1, 1 << 40] {
            counts.left_to_mpi("write_at", NOT_COLLECTIVE);
            counts.took("write_at", Some(bytes), Duration::ZERO);
        }
        assert_eq!(counts.all_left_to_mpi()[0].moved.map(|moved| moved.sizes), Some([0, 1, 1 << 31]));
    }
}
