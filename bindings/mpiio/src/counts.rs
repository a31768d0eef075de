//! Counts the calls on a file for the report: calls that the engine ran, and calls that the MPI library ran with the
//! reasons.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tributary::CallReport;
use tributary::engine::{AutoChoice, Path, Reason, Seconds, Why};

use crate::failures::Failures;

/// Calls of one function that the engine ran.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Ran {
    /// Number of calls; a collective call counts once.
    pub calls: u64,
    /// Number of bytes that all ranks together moved.
    pub bytes: u64,
    /// Seconds of the calls: in each, those of the slowest rank.
    pub seconds: f64,
}

/// Numbers of extents, messages and bytes in the engine's calls, over all ranks.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub struct ExchangeTotals {
    /// Number of extents (contiguous pieces of the file) that all ranks asked for.
    pub requests: u64,
    /// Number of messages in which ranks sent their access lists to aggregators.
    pub metadata_messages: u64,
    /// Number of bytes of these messages.
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
#[derive(Debug, Clone, Serialize)]
pub struct LeftToMpi {
    /// Name of the function.
    pub call: &'static str,
    /// The reason why MPI ran these calls.
    pub why: String,
    /// Number of calls. A collective call counts once; calls of other functions are added up over all ranks.
    pub calls: u64,
}

/// Functions that are not collective, by their names without `_c`, and the reason why MPI runs them.
const INDEPENDENT: [(&str, &str); 12] = [
    ("read", ALONE),
    ("read_at", ALONE),
    ("write", ALONE),
    ("write_at", ALONE),
    ("iread", ALONE),
    ("iread_at", ALONE),
    ("iwrite", ALONE),
    ("iwrite_at", ALONE),
    ("read_shared", SHARED_POINTER),
    ("write_shared", SHARED_POINTER),
    ("iread_shared", SHARED_POINTER),
    ("iwrite_shared", SHARED_POINTER),
];
/// Reason in reports why MPI runs a call that is not collective.
pub const ALONE: &str = "independent";
/// Reason in reports why MPI runs a call at the shared file pointer.
pub const SHARED_POINTER: &str = "shared file pointer";

/// Counts of the calls on one file.
#[derive(Debug, Default)]
pub struct CallCounts {
    /// Calls that the engine ran, by function.
    pub ran: BTreeMap<&'static str, Ran>,
    left_to_mpi: BTreeMap<(&'static str, String), u64>,
    paths: HashMap<(Path, Reason, Option<AutoChoice>), u64>,
    /// Times, extents, messages and bytes of all calls that the engine ran, added up.
    sum: CallReport,
    exchanged_bytes: u64,
    /// Number of calls that reused the plan of the call before.
    pub plans_reused: u64,
    /// Number of independent calls of this rank through this library's own handle of the file.
    pub alone: u64,
    /// Failed calls.
    pub failures: Failures,
}

impl CallCounts {
    /// Counts a call of the function `call` that the engine ran.
    pub fn ran(&mut self, call: &'static str, report: &CallReport) {
        let ran = self.ran.entry(call).or_default();
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
        *self.left_to_mpi.entry((call, why.to_string())).or_default() += 1;
    }

    /// Returns how often this rank called each function of [`INDEPENDENT`], in the order of that table. Calls with a
    /// large count are included.
    pub fn independent(&self) -> [u64; INDEPENDENT.len()] {
        INDEPENDENT.map(|(name, reason)| {
            let is_it = |call: &str| call.strip_suffix("_c").unwrap_or(call) == name;
            self.left_to_mpi
                .iter()
                .filter(|((call, why), _)| is_it(call) && why == reason)
                .map(|(_, calls)| calls)
                .sum()
        })
    }

    /// Replaces this rank's counts of the functions of [`INDEPENDENT`] by the sums of all ranks.
    pub fn set_independent(&mut self, sums: [u64; INDEPENDENT.len()]) {
        let is_one = |call: &str| INDEPENDENT.iter().any(|(name, _)| call.strip_suffix("_c").unwrap_or(call) == *name);
        self.left_to_mpi.retain(|(call, _), _| !is_one(call));
        let all = INDEPENDENT.into_iter().zip(sums).filter(|(_, calls)| *calls > 0);
        self.left_to_mpi.extend(all.map(|((call, why), calls)| ((call, why.to_string()), calls)));
    }

    /// Returns the calls that the MPI library ran, by function and reason.
    pub fn all_left_to_mpi(&self) -> Vec<LeftToMpi> {
        self.left_to_mpi.iter().map(|((call, why), &calls)| LeftToMpi { call, why: why.clone(), calls }).collect()
    }

    /// Returns the number of calls for each path and reason. `word` names a path.
    pub fn paths(&self, word: fn(Path) -> &'static str) -> BTreeMap<String, u64> {
        let mut paths = BTreeMap::new();
        for (&(path, reason, auto), &calls) in &self.paths {
            *paths.entry(format!("{}: {}", word(path), Why { reason, auto, told: None })).or_default() += calls;
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
