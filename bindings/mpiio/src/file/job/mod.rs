//! Counts how much of a job was accelerated, over all files of the job, and writes one line about it for the site.
//!
//! Each rank adds up the counts of the files that it closes. The first rank of a file counts calls that the engine ran and
//! collective calls that MPI ran; every rank counts its independent calls. At MPI_Finalize the sums of all ranks make
//! one line, if all ranks are known to take part: that is so after a collective read or write of a file of all ranks,
//! whose first agreement says whether the site wants a line. Otherwise each rank that was the first rank of a file
//! writes a line of its own, because otherwise it would wait for ever for a rank without this library.
//!
//! | module | holds |
//! |---|---|
//! | `log` | where the line goes |

mod log;

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use serde::Serialize;
use tributary::fingerprint;
use tributary::hints::{Environment, Log};
use tributary_abi::{self as ffi, SUCCESS, handles};
use tributary_bindings::guard::lock;

use crate::file::counts::CallCounts;
use crate::mpi::abi::{is_world_there, rank, ranks};

/// Number of sums in [`JobSums`].
const SUMS: usize = 9;

/// Sums of this rank, over the files that it has closed.
static OWN: Mutex<JobSums> = Mutex::new(JobSums([0; SUMS]));
/// True if all ranks of the program have agreed to write one line together.
static TOGETHER: AtomicBool = AtomicBool::new(false);
/// Environment variable of Slurm that holds the number of the step inside the job.
const STEP: &str = "SLURM_STEP_ID";
/// Environment variables that hold the number of the job in an array of jobs, for each scheduler.
const ARRAYS: [&str; 2] = ["SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX"];

/// Sums about files and calls, in the order in which [`JobLine::of`] takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JobSums([u64; SUMS]);

/// The line about a job, which is written as JSON.
#[derive(Debug, Serialize)]
struct JobLine {
    /// The version of this library.
    tributary: &'static str,
    /// Time of the line, in seconds since 1970, UTC.
    time: u64,
    /// Number of the job from the scheduler's environment variable.
    job: Option<String>,
    /// Number of the step inside the job, if the scheduler has steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    /// Number of the job in an array of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    array: Option<String>,
    /// Name of the host of the rank that writes the line.
    host: String,
    uid: u32,
    /// Value of the variable `USER`, which the user can change.
    user: Option<String>,
    program: String,
    /// Number of ranks of MPI_COMM_WORLD.
    ranks: usize,
    /// True if the numbers are sums over all ranks; false if they count only files of which this rank was the first
    /// rank.
    whole: bool,
    /// Number of different hosts of all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<usize>,
    files: JobFiles,
    calls: JobCalls,
    /// Bytes of accelerated calls, over all ranks.
    bytes: JobBytes,
    /// Seconds in accelerated calls: of the slowest rank in each call, added up.
    seconds: f64,
}

/// Number of files with at least one accelerated call, and number of files without one.
#[derive(Debug, Serialize)]
struct JobFiles {
    accelerated: u64,
    left_to_mpi: u64,
}

/// Numbers of calls: collective calls that the engine ran and that MPI ran, each counted once, and independent calls,
/// which MPI ran.
#[derive(Debug, Serialize)]
struct JobCalls {
    accelerated: u64,
    left_to_mpi: u64,
    independent: u64,
    /// Calls that failed with an error of this library, and opens that failed.
    failed: u64,
}

#[derive(Debug, Serialize)]
struct JobBytes {
    written: u64,
    read: u64,
}

impl JobSums {
    fn from_counts(is_first: bool, counts: &CallCounts) -> Self {
        let left = counts.all_left_to_mpi();
        let left = |is_collective: bool| -> u64 {
            let of = left
                .iter()
                .filter(|left| is_collective == (left.call.contains("_all") || left.call.contains("_ordered")));
            of.map(|left| left.calls).sum()
        };
        if !is_first {
            return Self([0, 0, 0, 0, left(false), 0, 0, 0, 0]);
        }
        let ran = &counts.ran;
        let calls = ran.values().map(|ran| ran.calls).sum::<u64>();
        let bytes = |is_read: bool| -> u64 {
            let of = ran.iter().filter(|(call, _)| is_read == call.trim_start_matches('i').starts_with("read"));
            of.map(|(_, ran)| ran.bytes).sum()
        };
        let microseconds = (counts.seconds().total * 1e6) as u64;
        let is_ours = u64::from(calls > 0);
        let failed = counts.failures.failed().map_or(0, |failed| failed.calls);
        let bytes = [bytes(false), bytes(true)];
        Self([is_ours, 1 - is_ours, calls, left(true), left(false), bytes[0], bytes[1], microseconds, failed])
    }

    fn has_files(&self) -> bool {
        self.0[0] + self.0[1] > 0
    }
}

impl JobLine {
    fn from_sums(sums: JobSums, ranks: usize, hosts: Option<usize>) -> Self {
        let JobSums([ours, others, accelerated, left_to_mpi, independent, written, read, microseconds, failed]) = sums;
        let text = |name: &str| tributary::variable(name).and_then(|value| value.into_string().ok());
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            tributary: env!("CARGO_PKG_VERSION"),
            time: since.map_or(0, |since| since.as_secs()),
            job: tributary::job(),
            step: text(STEP),
            array: ARRAYS.iter().find_map(|name| text(name)),
            host: host(),
            // SAFETY: it cannot fail and touches nothing.
            uid: unsafe { libc::getuid() },
            user: text("USER"),
            program: std::env::current_exe().unwrap_or_default().display().to_string(),
            ranks,
            whole: hosts.is_some(),
            hosts,
            files: JobFiles { accelerated: ours, left_to_mpi: others },
            calls: JobCalls { accelerated, left_to_mpi, independent, failed },
            bytes: JobBytes { written, read },
            seconds: microseconds as f64 / 1e6,
        }
    }
}

/// Returns the logs to which the site wants the line written, by the settings that this rank reads.
fn wanted() -> &'static [Log] {
    Environment::of_process().map_or(&[], |environment| environment.site().log())
}

/// Returns true if the site wants a line, by the settings that this rank reads. Local.
pub fn is_wanted() -> bool {
    !wanted().is_empty()
}

/// Records that all ranks have agreed to write one line together. Either every rank calls this before MPI_Finalize,
/// or none does. Local.
pub fn note_common_line() {
    TOGETHER.store(true, Ordering::Relaxed);
}

/// Adds the counts of a file that is being closed to this rank's sums. Local.
pub fn add(is_first: bool, counts: &CallCounts) {
    let file = JobSums::from_counts(is_first, counts);
    let mut own = lock(&OWN);
    own.0.iter_mut().zip(file.0).for_each(|(sum, number)| *sum += number);
}

/// Adds an open or a close of a file that failed to this rank's sums, if this is the file's first rank. Local.
pub fn add_failure(is_first: bool) {
    lock(&OWN).0[SUMS - 1] += u64::from(is_first);
}

/// Returns the name of this rank's host.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

fn own() -> JobSums {
    *lock(&OWN)
}

/// Returns true if this rank must call [`write_line`] at MPI_Finalize. Local.
pub fn has_line() -> bool {
    TOGETHER.load(Ordering::Relaxed) || (own().has_files() && is_wanted())
}

/// Writes the line to the site's logs: rank 0 for all ranks, or each rank for itself. Collective over MPI_COMM_WORLD
/// if all ranks have agreed to write one line: costs a reduction, and a message of 8 bytes from each rank to rank 0.
/// Returns a message for each log that could not be written.
pub fn write_line() -> Vec<String> {
    let is_together = TOGETHER.swap(false, Ordering::Relaxed);
    if !is_world_there().unwrap_or(false) {
        return Vec::new();
    }
    // SAFETY: MPI is initialised and not finalised.
    let (rank, ranks) = unsafe { (rank(handles().comm_world) as usize, ranks(handles().comm_world) as usize) };
    let line = match is_together {
        true => sum(rank, ranks).map(|(sums, hosts)| JobLine::from_sums(sums, ranks, Some(hosts))),
        false => Some(JobLine::from_sums(own(), ranks, None)),
    };
    *lock(&OWN) = JobSums([0; SUMS]);
    let Some(text) = line.and_then(|line| serde_json::to_string(&line).ok()) else { return Vec::new() };
    wanted().iter().filter_map(|log| log::write(log, &text).err()).collect()
}

/// Returns, on rank 0, the sums of all ranks and the number of hosts; None on other ranks. Collective over
/// MPI_COMM_WORLD.
fn sum(rank: usize, ranks: usize) -> Option<(JobSums, usize)> {
    let host = fingerprint([host()]);
    let (own, mut sums) = (own(), JobSums([0; SUMS]));
    let mut hosts = vec![0u64; if rank == 0 { ranks } else { 0 }];
    let (number, comm) = (handles().uint64, handles().comm_world);
    // SAFETY: two arrays of `SUMS` numbers; MPI is initialised.
    let reduced = unsafe {
        ffi::MPI_Reduce(own.0.as_ptr().cast(), sums.0.as_mut_ptr().cast(), SUMS as i32, number, handles().sum, 0, comm)
    };
    // SAFETY: one number of each rank; on rank 0, room for one of each rank.
    let gathered =
        unsafe { ffi::MPI_Gather((&raw const host).cast(), 1, number, hosts.as_mut_ptr().cast(), 1, number, 0, comm) };
    let hosts = hosts.into_iter().collect::<HashSet<_>>().len();
    (rank == 0 && (reduced, gathered) == (SUCCESS, SUCCESS)).then_some((sums, hosts))
}
