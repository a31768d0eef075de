//! Measures cases on emulated hosts: starts this program there under mpiexec, with the cases in a file.

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trib::agreement::agreed;
use trib::cli::replay::FileFormat;
use trib::cli::slow_file::SlowFileOptions;
use trib::compare::slow_file;
use trib::launcher::{self, child, preload};
use trib::rank_program::{ReplayTask, Wished};
use trib::{Failure, progress};
use tributary::fabric::mpi;
use tributary::hints::Overlap;
use tributary::{Endpoint, Error};

use super::case::{HostsCase, ranks, shape};
use crate::hosts::Hosts;

/// Microseconds that each read or write of a file takes more, if no option says otherwise.
pub const FILE_LATENCY: u64 = 300;

/// Milliseconds that bytes wait at a link at most. Many ranks that send to one fill a queue of 20 ms; what TCP does about
/// bytes that are lost then takes up to twice as long as the messages, and the simulator does not have it.
const QUEUE: u64 = 1000;

/// Measured times of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeasuredCase {
    /// The case.
    pub case: HostsCase,
    /// Number of hosts.
    pub hosts: u64,
    /// Microseconds that each read or write of the file takes more.
    #[serde(default = "usual_latency")]
    pub latency: u64,
    /// Seconds of the calls of each write.
    pub write: Vec<f64>,
    /// Seconds of the calls of each read.
    pub read: Vec<f64>,
}

fn usual_latency() -> u64 {
    FILE_LATENCY
}

/// Task of the program on the hosts.
#[derive(Debug, Serialize, Deserialize)]
pub struct HostsTask {
    cases: Vec<HostsCase>,
    hosts: u64,
    latency: u64,
    repetitions: u64,
    /// File that is written and read.
    file: PathBuf,
    /// File to which a line of JSON is added for each measured case.
    results: PathBuf,
}

/// Measures cases of one rate on `hosts` emulated hosts. Calls `keep` with each result.
///
/// # Errors
/// Hosts cannot be made; a run fails.
pub fn on_hosts(
    cases: &[HostsCase],
    (hosts, latency, quick): (u64, u64, bool),
    repetitions: u64,
    mut keep: impl FnMut(MeasuredCase) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(rate) = cases.first().map(|case| case.rate) else { return Ok(()) };
    let ranks = ranks(hosts, quick);
    let slow_files =
        SlowFileOptions { file_rate: Some(rate), file_latency: Some(latency as f64), ..SlowFileOptions::default() };
    let made = Hosts::of(hosts, Some(shape(rate)), Some(QUEUE), None)?;
    let place = made.directory();
    let bar = progress(cases.len() as u64, "cases");
    // A job of its own for a few cases: if one job fails, the results of the others are kept.
    for cases in cases.chunks(CASES_OF_JOB) {
        let (task_file, results) = (made.own().join("task.json"), made.own().join("results.jsonl"));
        File::create(&results)?;
        let file = place.join("validated");
        let task = HostsTask { cases: cases.to_vec(), hosts, latency, repetitions, file, results: results.clone() };
        std::fs::write(&task_file, serde_json::to_string(&task)?)?;
        let mpiexec = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".to_string());
        let (mut command, slow) = made.slow_command(&mpiexec, ranks / hosts, &slow_files)?;
        let family = launcher::of(&mpiexec)?.and_then(|launcher| launcher.family);
        let inherited = std::env::var("TRIB_MPI").ok().map(|library| ("TRIB_MPI".to_string(), library));
        let set = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        let set = set.filter(|(name, _)| [preload::NAME, slow_file::FILE].contains(name));
        let set: Vec<(String, String)> =
            set.map(|(name, value)| (name.to_string(), value.to_string())).chain(inherited).collect();
        let words =
            set.iter().flat_map(|(name, value)| family.map_or(Vec::new(), |family| family.for_ranks(name, value)));
        command.args(words);
        command.arg("-n").arg(ranks.to_string()).arg(std::env::current_exe()?);
        command.args(["sim", "validate", "--fabric", "mpi", "--hosts-task"]).arg(&task_file);
        command.stdout(std::process::Stdio::null());
        let status = child::run(&mut command)?;
        drop(slow);
        let mut found = 0;
        for line in BufReader::new(File::open(&results)?).lines() {
            keep(serde_json::from_str(&line?)?)?;
            found += 1;
        }
        bar.inc(found);
        if !status.success() || found < cases.len() as u64 {
            return Err(Failure::new(format!(
                "hosts: mpiexec ended with {status} after {found} of {} cases",
                cases.len()
            )));
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Maximum number of cases that one MPI job measures.
const CASES_OF_JOB: usize = 6;

/// Runs a task in every process of the MPI job.
///
/// # Errors
/// Errors of MPI, of the patterns and of the library, and wrong bytes.
pub fn under_mpi(task: &Path) -> Result<(), Failure> {
    let (_world, mut endpoint, prints) = crate::tune::under_mpi(None)?;
    if mpi::device().is_some_and(|device| device.contains("ucx")) {
        // MPI_Finalize may not return, so the job ends here.
        mpi::end_job(&Error::argument(
            "MPI library",
            "MPICH on UCX",
            "one that `trib-lab hosts` takes: TRIB_MPI names it",
        ));
    }
    let read = || -> Result<HostsTask, Failure> { Ok(serde_json::from_str(&std::fs::read_to_string(task)?)?) };
    let task = agreed(&mut endpoint, read())?;
    let mut all: Vec<_> = task.cases.iter().map(|case| measured(case, &task)).collect();
    // Cases take turns, so that what disturbs the machine disturbs all. The first turn makes the connections.
    for turn in 0..=task.repetitions {
        for measured in &mut all {
            let times;
            (times, endpoint) =
                once((&measured.case, task.hosts), &task.file, endpoint).map_err(|failure| failure.said_by(prints))?;
            if turn > 0 {
                measured.write.push(times.0);
                measured.read.push(times.1);
            }
        }
    }
    let kept = if prints { keep(&task.results, &all) } else { Ok(()) };
    agreed(&mut endpoint, kept)
}

fn measured(case: &HostsCase, task: &HostsTask) -> MeasuredCase {
    let HostsTask { hosts, latency, .. } = *task;
    MeasuredCase { case: case.clone(), hosts, latency, write: Vec::new(), read: Vec::new() }
}

fn keep(path: &Path, all: &[MeasuredCase]) -> Result<(), Failure> {
    let mut file = File::options().append(true).open(path)?;
    for measured in all {
        writeln!(file, "{}", serde_json::to_string(measured)?)?;
    }
    Ok(())
}

/// Writes and reads a file once. Returns the seconds of the calls, and the endpoint. Collective.
fn once(
    (case, hosts): (&HostsCase, u64),
    file: &Path,
    mut endpoint: Endpoint,
) -> Result<((f64, f64), Endpoint), Failure> {
    let ranks = endpoint.ranks();
    let prepared = case.pattern(ranks).and_then(|pattern| {
        let mut hints = case.hints(ranks)?;
        if pattern.overlaps() {
            hints.overlap = Overlap::RankOrder;
        }
        Ok((pattern, hints))
    });
    let (pattern, hints) = agreed(&mut endpoint, prepared)?;
    let removed = match std::fs::remove_file(file) {
        Err(cause) if endpoint.rank() == 0 && cause.kind() != std::io::ErrorKind::NotFound => Err(cause.into()),
        _ => Ok(()),
    };
    agreed(&mut endpoint, removed)?;
    let task = ReplayTask {
        pattern: &*pattern,
        path: file,
        hints: &hints,
        buffer: None,
        format: FileFormat::Raw,
        calls: Wished::WriteAndRead,
        compared: true,
    };
    let (outcome, endpoint) = task.run(endpoint)?;
    if outcome.nodes as u64 != hosts {
        let allowed = "allowed: an MPI library that tells hosts by their names";
        return Err(Failure::new(format!("hosts: MPI sees {} and not {hosts}; {allowed}", outcome.nodes)));
    }
    let read = outcome.done.read().ok_or_else(|| Failure::new("no read"))?;
    if let Some(Err(wrong)) = &read.right {
        return Err(Failure::new(format!("{}: wrong bytes: {wrong}", case.pattern)));
    }
    let seconds = |calls: &trib::calls::Calls| calls.sum.seconds.total;
    for (calls, direction) in [(outcome.done.calls(), "write"), (&read.calls, "read")] {
        if calls.path() != "exchange" {
            return Err(Failure::new(format!("{}: the {direction} was no exchange: {}", case.pattern, calls.why())));
        }
    }
    Ok(((seconds(outcome.done.calls()), seconds(&read.calls)), endpoint))
}
