//! What was accelerated of a job, over all of its files, and the line about it for the site.
//!
//! A rank adds up the files that it closes. What the engine ran, and collective calls that MPI ran, are counted by a file's first
//! rank, independent calls by each rank. At MPI_Finalize the sums of all ranks make one line, if all ranks are known to take part:
//! after a collective read or write of a file that has all of them, whose first agreement says whether the site wants a line.
//! Otherwise each rank that was the first of a file writes a line of its own: a rank without this library would be waited for.
//!
//! | module | holds |
//! |---|---|
//! | `log` | where the line goes |

mod log;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use tributary::fingerprint;
use tributary::hints::{Environment, Log};
use tributary_abi::{self as ffi, SUCCESS, handles};

use crate::abi::{is_world_there, rank, ranks, world};
use crate::counts::CallCounts;

/// The numbers that ranks add up.
const SUMS: usize = 8;

/// Of this rank.
static OWN: Mutex<Sums> = Mutex::new(Sums([0; SUMS]));
/// True if all ranks of the program know that they tell the job together.
static TOGETHER: AtomicBool = AtomicBool::new(false);
/// Variables with the number of a job, by scheduler.
const JOBS: [&str; 4] = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"];

/// In the order of [`JobLine::of`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sums([u64; SUMS]);

/// The line.
#[derive(Debug, Serialize)]
struct JobLine {
    /// The version of this library.
    tributary: &'static str,
    /// Seconds since 1970, UTC.
    time: u64,
    /// What the scheduler calls the job.
    job: Option<String>,
    uid: u32,
    /// What `USER` says, which its user can change.
    user: Option<String>,
    program: String,
    /// Of MPI_COMM_WORLD.
    ranks: usize,
    /// True if the numbers are of all ranks; otherwise of the files whose first rank this rank was.
    whole: bool,
    /// Different names of hosts of all ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<usize>,
    files: Split,
    calls: Calls,
    /// Of accelerated calls, over all ranks.
    bytes: Bytes,
    /// In accelerated calls, of the slowest rank in each.
    seconds: f64,
}

/// Files with an accelerated call, and those without one.
#[derive(Debug, Serialize)]
struct Split {
    accelerated: u64,
    left_to_mpi: u64,
}

/// Collective calls of files, and independent calls of ranks, which are MPI's.
#[derive(Debug, Serialize)]
struct Calls {
    accelerated: u64,
    left_to_mpi: u64,
    independent: u64,
}

#[derive(Debug, Serialize)]
struct Bytes {
    written: u64,
    read: u64,
}

impl Sums {
    fn of(is_first: bool, counts: &CallCounts) -> Self {
        let left = counts.all_left_to_mpi();
        let left = |is_collective: bool| -> u64 {
            let of = left
                .iter()
                .filter(|left| is_collective == (left.call.contains("_all") || left.call.contains("_ordered")));
            of.map(|left| left.calls).sum()
        };
        if !is_first {
            return Self([0, 0, 0, 0, left(false), 0, 0, 0]);
        }
        let ran = counts.all_run();
        let calls = ran.values().map(|ran| ran.calls).sum::<u64>();
        let bytes = |is_read: bool| -> u64 {
            let of = ran.iter().filter(|(call, _)| is_read == call.trim_start_matches('i').starts_with("read"));
            of.map(|(_, ran)| ran.bytes).sum()
        };
        let microseconds = (counts.seconds().total * 1e6) as u64;
        let is_ours = u64::from(calls > 0);
        Self([is_ours, 1 - is_ours, calls, left(true), left(false), bytes(false), bytes(true), microseconds])
    }

    fn has_files(&self) -> bool {
        self.0[0] + self.0[1] > 0
    }
}

impl JobLine {
    fn of(sums: Sums, ranks: usize, hosts: Option<usize>) -> Self {
        let Sums([ours, others, accelerated, left_to_mpi, independent, written, read, microseconds]) = sums;
        let text = |name: &str| tributary::variable(name).and_then(|value| value.into_string().ok());
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            tributary: env!("CARGO_PKG_VERSION"),
            time: since.map_or(0, |since| since.as_secs()),
            job: JOBS.iter().find_map(|name| text(name)),
            // SAFETY: it cannot fail and touches nothing.
            uid: unsafe { libc::getuid() },
            user: text("USER"),
            program: std::env::current_exe().unwrap_or_default().display().to_string(),
            ranks,
            whole: hosts.is_some(),
            hosts,
            files: Split { accelerated: ours, left_to_mpi: others },
            calls: Calls { accelerated, left_to_mpi, independent },
            bytes: Bytes { written, read },
            seconds: microseconds as f64 / 1e6,
        }
    }
}

/// Where the site wants the line, by this rank's reading.
fn wanted() -> &'static [Log] {
    Environment::of_process().map_or(&[], |environment| environment.site().log())
}

/// Returns true if the site wants a line, by this rank's reading. Local.
pub fn is_wanted() -> bool {
    !wanted().is_empty()
}

/// Takes down that all ranks have agreed to tell the job together. Each of them calls this before MPI_Finalize, or none. Local.
pub fn is_told_by_all() {
    TOGETHER.store(true, Ordering::Relaxed);
}

/// Adds a file that is being closed. Local.
pub fn add(is_first: bool, counts: &CallCounts) {
    let file = Sums::of(is_first, counts);
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.0.iter_mut().zip(file.0).for_each(|(sum, number)| *sum += number);
}

fn own() -> Sums {
    *OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if [`tell`] has anything to do on this rank. Local.
pub fn is_to_be_told() -> bool {
    TOGETHER.load(Ordering::Relaxed) || (own().has_files() && is_wanted())
}

/// Writes the line to where the site wants it: rank 0 for all, or a rank for itself. Collective over MPI_COMM_WORLD if all ranks have
/// agreed: a reduction, and 8 bytes of each rank to rank 0. Returns what could not be written.
pub fn tell() -> Vec<String> {
    let is_together = TOGETHER.swap(false, Ordering::Relaxed);
    if !is_world_there().unwrap_or(false) {
        return Vec::new();
    }
    // SAFETY: MPI is initialised and not finalised.
    let (rank, ranks) = unsafe { (rank(world()) as usize, ranks(world()) as usize) };
    let line = match is_together {
        true => sum(rank, ranks).map(|(sums, hosts)| JobLine::of(sums, ranks, Some(hosts))),
        false => Some(JobLine::of(own(), ranks, None)),
    };
    *OWN.lock().unwrap_or_else(PoisonError::into_inner) = Sums([0; SUMS]);
    let Some(text) = line.and_then(|line| serde_json::to_string(&line).ok()) else { return Vec::new() };
    wanted().iter().filter_map(|log| log::write(log, &text).err()).collect()
}

/// On rank 0, the sums of all ranks and the number of hosts. Collective over MPI_COMM_WORLD.
fn sum(rank: usize, ranks: usize) -> Option<(Sums, usize)> {
    let host = fingerprint([std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default()]);
    let (own, mut sums) = (own(), Sums([0; SUMS]));
    let mut hosts = vec![0u64; if rank == 0 { ranks } else { 0 }];
    let (number, comm) = (handles().uint64, world());
    // SAFETY: two arrays of so many numbers; MPI is initialised.
    let reduced = unsafe {
        ffi::MPI_Reduce(own.0.as_ptr().cast(), sums.0.as_mut_ptr().cast(), SUMS as i32, number, handles().sum, 0, comm)
    };
    // SAFETY: one number of each rank; on rank 0, room for one of each rank.
    let gathered =
        unsafe { ffi::MPI_Gather((&raw const host).cast(), 1, number, hosts.as_mut_ptr().cast(), 1, number, 0, comm) };
    let hosts = hosts.into_iter().collect::<HashSet<_>>().len();
    (rank == 0 && (reduced, gathered) == (SUCCESS, SUCCESS)).then_some((sums, hosts))
}
