//! Collects the costs of runs: the records of the ranks, and the time that the program prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::compare::slow_file::FileTotals;

/// Environment variable that names the folder of the ranks' records.
pub const INSIDE: &str = "TRIB_COMPARE_INSIDE";

/// Record that a rank writes when it ends.
#[derive(Debug, Deserialize)]
struct RankRecord {
    host: String,
    calls: BTreeMap<String, FunctionCost>,
    seconds: f64,
    cpu: f64,
    context_switches: f64,
    page_faults: f64,
    peak_bytes: f64,
}

/// Calls of one MPI function.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct FunctionCost {
    /// Number of calls of all ranks.
    pub calls: f64,
    /// Seconds in the function, on the slowest rank.
    pub seconds: f64,
}

/// Costs of runs, one number for each run.
#[derive(Debug, Default, Serialize)]
pub struct RunCosts {
    /// Seconds by the program's own timer, if one was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timed_seconds: Vec<f64>,
    /// Seconds inside MPI_File_*, on the rank with the longest time there.
    pub inside_seconds: Vec<f64>,
    /// Seconds from the start of the launcher to its end.
    pub wall_seconds: Vec<f64>,
    /// Processor seconds of all ranks.
    pub cpu_seconds: Vec<f64>,
    /// Number of context switches of all ranks.
    pub context_switches: Vec<f64>,
    /// Number of page faults of all ranks.
    pub page_faults: Vec<f64>,
    /// Peak memory of the largest rank in bytes.
    pub peak_bytes: Vec<f64>,
    /// Number of bytes that were read from and written to files, if files are slow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_bytes: Vec<u64>,
    /// Number of reads and writes of files, if files are slow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file_calls: Vec<u64>,
    /// Calls in the last run, by name of the MPI function.
    pub functions: BTreeMap<String, FunctionCost>,
    /// Number of ranks of the program.
    #[serde(skip)]
    pub ranks: usize,
    /// Number of hosts on which the ranks ran.
    #[serde(skip)]
    pub hosts: usize,
}

impl RunCosts {
    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        self.wall_seconds.len()
    }

    /// Returns the seconds of each run that count: by the program's own timer, or else inside MPI_File_*.
    pub fn counted(&self) -> &[f64] {
        if self.timed_seconds.is_empty() { &self.inside_seconds } else { &self.timed_seconds }
    }

    /// Returns the minimum of the seconds that count.
    pub fn least(&self) -> f64 {
        self.counted().iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Adds a run, whose records are in `folder` and which took `wall` seconds.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn add(&mut self, folder: &Path, wall: f64) -> Result<(), Failure> {
        let ranks = ranks(folder)?;
        self.wall_seconds.push(wall);
        let largest = |of: &dyn Fn(&RankRecord) -> f64| ranks.iter().map(of).fold(0.0, f64::max);
        let sum = |of: &dyn Fn(&RankRecord) -> f64| ranks.iter().map(of).sum();
        self.inside_seconds.push(largest(&|rank| rank.seconds));
        self.cpu_seconds.push(sum(&|rank| rank.cpu));
        self.context_switches.push(sum(&|rank| rank.context_switches));
        self.page_faults.push(sum(&|rank| rank.page_faults));
        self.peak_bytes.push(largest(&|rank| rank.peak_bytes));
        self.functions.clear();
        for (name, function) in ranks.iter().flat_map(|rank| &rank.calls) {
            let all = self.functions.entry(name.clone()).or_default();
            all.calls += function.calls;
            all.seconds = all.seconds.max(function.seconds);
        }
        self.ranks = ranks.len();
        self.hosts = ranks.iter().map(|rank| &rank.host).collect::<BTreeSet<_>>().len();
        Ok(())
    }

    /// Adds the reads and writes of a run, from the totals before and after it.
    pub fn add_file(&mut self, before: Option<FileTotals>, after: Option<FileTotals>) {
        if let (Some(before), Some(after)) = (before, after) {
            self.file_bytes.push(after.read + after.written - before.read - before.written);
            self.file_calls.push(after.calls - before.calls);
        }
    }
}

/// Returns the seconds inside MPI_File_* on the rank with the longest time there, if any rank called it; and the number
/// of ranks.
///
/// # Errors
/// A record that cannot be read.
pub fn seconds_inside(folder: &Path) -> Result<(Option<f64>, usize), Failure> {
    let ranks = ranks(folder)?;
    let that_called = ranks.iter().filter(|rank| !rank.calls.is_empty());
    Ok((that_called.map(|rank| rank.seconds).reduce(f64::max), ranks.len()))
}

/// Returns the records of all ranks.
fn ranks(folder: &Path) -> Result<Vec<RankRecord>, Failure> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| -> Result<RankRecord, Failure> {
        Ok(serde_json::from_str(&std::fs::read_to_string(entry?.path())?)?)
    };
    std::fs::read_dir(folder)?.map(read).collect()
}
