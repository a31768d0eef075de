//! Measures whether `auto` chooses good kernels: every write with every choice in turns, on pretended nodes of this
//! host.

mod cases;
mod passes;
mod row;
mod show;
mod turns;

use std::path::{Path, PathBuf};
use std::pin::pin;

use trib::agreement::agreed;
use trib::cli::replay::Fabric;
use trib::{Failure, hints, progress, say};
use tributary::collectives::broadcast;
use tributary::fabric::{mpi, threads};
use tributary::{Endpoint, Hints};

use self::cases::PretendedWrite;
use self::row::{Manner, MeasuredTimes};
use self::turns::Turns;
use super::{keep, known};
use crate::cli::kernels::KernelsOptions;

/// Default number of ranks on threads.
const RANKS: u64 = 8;

/// Runs the command.
pub fn run(options: &KernelsOptions, fabric: Fabric) -> Result<(), Failure> {
    match fabric {
        Fabric::Threads => {
            let ranks = options.measured.ranks.unwrap_or(RANKS) as usize;
            let program = |transport| measure(Endpoint::new(transport), options, "threads");
            let all = threads::run(ranks, program)?;
            all.into_iter().next().ok_or_else(|| Failure::new("no ranks"))??.map_or(Ok(()), |found| found.say(options))
        }
        Fabric::Mpi => on_mpi(options),
    }
}

/// Runs the command on MPI, in every process.
fn on_mpi(options: &KernelsOptions) -> Result<(), Failure> {
    let (_world, endpoint, prints) = crate::tune::under_mpi(options.measured.ranks)?;
    // `MPICH Version: 4.0.2`, or `Open MPI v4.1.4, package: ...`.
    let name = mpi::library().replace(" Version:", "");
    let name = name.split(',').next().unwrap_or_default().to_string();
    let library = [Some(name), mpi::device()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let found = measure(endpoint, options, &library).map_err(|failure| failure.said_by(prints))?;
    found.map_or(Ok(()), |found| found.say(options))
}

/// Plan of the measurements.
struct MeasurementPlan {
    cases: Vec<PretendedWrite>,
    /// Cases that are not measured, with the reason.
    left_out: Vec<String>,
    hints: Hints,
    /// Rows of earlier runs; on rank 0 only.
    rows: Vec<MeasuredTimes>,
    /// Path of the file; on rank 0 only.
    file: Option<tempfile::TempPath>,
}

impl MeasurementPlan {
    /// Checks the whole command line.
    fn new(options: &KernelsOptions, ranks: usize, prints: bool) -> Result<Self, Failure> {
        let hints = hints::of_process()?;
        let (cases, left_out) = cases::all(options, ranks)?;
        if !prints {
            return Ok(Self { cases, left_out, hints, rows: Vec::new(), file: None });
        }
        options.markdown.iter().try_for_each(|path| show::check(path))?;
        let rows = options
            .resume
            .as_deref()
            .map_or(Ok(Vec::new()), |path| alike(path, &Manner::of(&options.measured, &hints)))?;
        Ok(Self { cases, left_out, hints, rows, file: Some(file(options.measured.file.as_deref())?) })
    }
}

/// Returns the rows of an earlier run, which must have been measured in the same manner.
fn alike(path: &Path, manner: &Manner) -> Result<Vec<MeasuredTimes>, Failure> {
    let rows: Vec<MeasuredTimes> = known(path)?;
    match rows.iter().find(|row| row.manner != *manner) {
        None => Ok(rows),
        Some(MeasuredTimes { manner: other, .. }) => {
            let path = path.display();
            Err(Failure::new(format!(
                "resume: {path}: has rows with {other}; allowed: rows like those of this run ({manner})"
            )))
        }
    }
}

/// Returns the file that is written: the given one, or a temporary one. The file is removed at the end.
fn file(given: Option<&Path>) -> Result<tempfile::TempPath, Failure> {
    let fail = |path: &Path, cause: std::io::Error| {
        Failure::new(format!("file: {}: {cause}; allowed: a new file", path.display()))
    };
    match given {
        Some(path) => {
            std::fs::File::create_new(path).map_err(|cause| fail(path, cause))?;
            tempfile::TempPath::try_from_path(path).map_err(|cause| fail(path, cause))
        }
        None => {
            let made = tempfile::Builder::new().prefix("trib-").suffix(".out").tempfile();
            made.map(tempfile::NamedTempFile::into_temp_path).map_err(|cause| fail(&std::env::temp_dir(), cause))
        }
    }
}

/// Measured rows, together with those of earlier runs.
struct MeasuredRows {
    rows: Vec<MeasuredTimes>,
    left_out: Vec<String>,
}

impl MeasuredRows {
    fn say(&self, options: &KernelsOptions) -> Result<(), Failure> {
        options.markdown.iter().try_for_each(|path| show::write(path, &self.rows))?;
        match options.json {
            true => say(serde_json::to_string_pretty(&show::object(&self.rows, &self.left_out))?),
            false => say(show::text(&self.rows, &self.left_out)),
        }
    }
}

/// Measures all cases that no earlier run has. Collective; the rows are on rank 0, which shows its progress.
fn measure(mut endpoint: Endpoint, options: &KernelsOptions, library: &str) -> Result<Option<MeasuredRows>, Failure> {
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let plan = MeasurementPlan::new(options, ranks, rank == 0);
    let MeasurementPlan { cases, left_out, hints, mut rows, file } = agreed(&mut endpoint, plan)?;
    let path = PathBuf::from(told(&mut endpoint, file.as_ref().map_or("", |file| file.to_str().unwrap_or_default()))?);
    let is_new = |case: &PretendedWrite| !rows.iter().any(|row| row.is_of(library, case, ranks));
    let flags: String = cases.iter().map(|case| if is_new(case) { '+' } else { '-' }).collect();
    let flags = told(&mut endpoint, &flags)?;
    let due: Vec<&PretendedWrite> =
        cases.iter().zip(flags.chars()).filter_map(|(case, flag)| (flag == '+').then_some(case)).collect();
    let bar = if rank == 0 { progress(due.len() as u64, "cases") } else { indicatif::ProgressBar::hidden() };
    for case in due {
        let pattern = agreed(&mut endpoint, case.pattern(ranks))?;
        let turns = Turns { case, pattern: &*pattern, hints: &hints, path: &path, options: &options.measured };
        let times;
        (times, endpoint) = turns.run(endpoint)?;
        let kept = match rank {
            0 => {
                let manner = Manner::of(&options.measured, &hints);
                rows.push(MeasuredTimes::new(manner, library, case, ranks, times));
                options.resume.iter().zip(rows.last()).try_for_each(|(path, row)| keep(path, row))
            }
            _ => Ok(()),
        };
        agreed(&mut endpoint, kept)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    rows.sort_by(|a, b| a.place().cmp(&b.place()));
    Ok((rank == 0).then_some(MeasuredRows { rows, left_out }))
}

/// Broadcasts `words` of rank 0, and returns them on every rank. Collective.
fn told(endpoint: &mut Endpoint, words: &str) -> Result<String, Failure> {
    let waiting = endpoint.waiting().clone();
    let words = waiting.wait(pin!(broadcast(endpoint, 0, words.as_bytes())))?;
    Ok(String::from_utf8_lossy(&words).into_owned())
}
