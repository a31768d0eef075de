//! Parses the library's reports with TRIB_REPORT=json: the lines of standard error that begin with `tributary: {`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Beginning of a line that has a report.
const MARK: &str = "tributary: {";

/// Calls of one function that the engine ran.
#[derive(Debug, Clone, Deserialize)]
#[allow(dead_code, reason = "a report must have every field")]
pub struct Ran {
    pub calls: u64,
    pub bytes: u64,
    pub seconds: f64,
}

/// What limits the calls that the engine ran.
#[derive(Debug, Clone, Deserialize)]
pub struct Limit {
    pub by: String,
    pub file: f64,
    pub exchange: f64,
    pub of_the_longer: f64,
}

/// Calls that failed.
#[derive(Debug, Clone, Deserialize)]
pub struct Failed {
    pub calls: u64,
    #[serde(default)]
    pub first: Option<String>,
}

/// Calls of one function that the MPI library ran.
#[derive(Debug, Clone, Deserialize)]
pub struct Passed {
    pub call: String,
    pub why: String,
    pub calls: u64,
    /// Bytes, seconds and sizes of calls that are not collective.
    pub bytes: Option<u64>,
    pub seconds: Option<f64>,
    pub sizes: Option<[u64; 3]>,
}

/// The report on one file, from open to close.
#[derive(Debug, Clone, Deserialize)]
#[allow(dead_code, reason = "a report must have every field")]
pub struct Report {
    pub file: String,
    /// Number of files that single ranks have opened, if the report is of them.
    #[serde(default)]
    pub files: Option<u64>,
    pub version: String,
    /// The path of the library.
    pub library: String,
    /// The way in which the program's calls reached the library.
    pub loaded: String,
    pub ranks: Option<usize>,
    pub driver: Option<String>,
    pub aggregators: Option<usize>,
    /// Reason why MPI runs the calls of the file.
    #[serde(default)]
    pub not_taken: Option<String>,
    #[serde(default)]
    pub no_shared_memory: Option<String>,
    pub kernel_meta: Option<String>,
    pub kernel_data: Option<String>,
    pub accelerated: BTreeMap<String, Ran>,
    pub passed_through: Vec<Passed>,
    /// Independent calls that would gain from being collective.
    #[serde(default)]
    pub could_be_collective: Option<Gain>,
    /// Seconds of functions that neither read nor write.
    pub other_calls: BTreeMap<String, f64>,
    /// Failed calls: their number, and the first error that was not printed.
    #[serde(default)]
    pub failed: Option<Failed>,
    /// Number of independent calls through the library's own handle.
    #[serde(default)]
    pub past_cache: u64,
    /// Calls of MPI_File_delete that found no file, if several ranks made such calls: `calls` and `ranks`.
    #[serde(default)]
    pub deletions_in_vain: Option<BTreeMap<String, u64>>,
    pub hints_not_used: Vec<NotUsed>,
    /// Hint that the library has added to those of PnetCDF.
    #[serde(default)]
    pub hint_added: Option<String>,
    /// Hints in force, by key; empty if the engine did not take the file.
    #[serde(default)]
    pub hints: BTreeMap<String, String>,
    /// Seconds in the engine, by part, and `total`.
    pub seconds: BTreeMap<String, f64>,
    /// What limits the calls that the engine ran.
    #[serde(default)]
    pub limit: Option<Limit>,
}

/// Small independent calls, and how libraries make them collective.
#[derive(Debug, Clone, Deserialize)]
pub struct Gain {
    pub calls: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub how: Vec<String>,
}

/// A hint that was given and is not used.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NotUsed {
    pub key: String,
    pub value: String,
    pub source: String,
    pub why: String,
}

impl Report {
    /// Returns all reports in a program's output. If ranks that each have a file end at once, mpiexec may print one
    /// report inside another; reports that cannot be read are left out.
    ///
    /// # Panics
    /// Panics if there are reports and none can be read.
    pub fn all(printed: &str) -> Vec<Self> {
        let texts = printed.lines().filter(|line| line.starts_with(MARK));
        let parsed = texts.map(|line| serde_json::from_str(&line[MARK.len() - 1..]).map_err(|cause| (cause, line)));
        let (reports, failures): (Vec<_>, Vec<_>) = parsed.partition(Result::is_ok);
        if reports.is_empty()
            && let Some(Err((cause, line))) = failures.first()
        {
            panic!("no report can be read: {cause}: {line}");
        }
        reports.into_iter().flatten().collect()
    }
}

/// Returns the number of times that the engine ran `call`, in all files.
pub fn accelerated(reports: &[Report], call: &str) -> u64 {
    reports.iter().filter_map(|report| report.accelerated.get(call)).map(|ran| ran.calls).sum()
}

/// Returns the number of times that `call` was passed to MPI, in all files.
pub fn passed_through(reports: &[Report], call: &str) -> u64 {
    let all = reports.iter().flat_map(|report| &report.passed_through);
    all.filter(|passed| passed.call == call).map(|passed| passed.calls).sum()
}
