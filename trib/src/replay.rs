//! `trib replay`: runs the collective calls of a pattern on a fabric, and reports.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::pin::pin;

use tributary::collectives::broadcast;
use tributary::fabric::{mpi, threads};
use tributary::hints::Overlap;
use tributary::{Endpoint, Hints};
use tributary_benchmarks::Pattern;
use tributary_benchmarks::wrf::Replay;

use crate::agreement::agreed;
use crate::cli::replay::{Fabric, FileFormat, MemoryLayout, ReplayOptions};
use crate::output::Output;
use crate::rank_program::{ReplayTask, RunOutcome, Wished};
use crate::report::{self, Replayed};
use crate::source::Subject;
use crate::{Failure, say};
use crate::{exchange, hints, limits, plan_only, verify};

/// Number of bytes of an extent in a rank's list, packed or not.
const EXTENT: u64 = 16;

/// Runs a replay.
pub fn run(options: &ReplayOptions) -> Result<(), Failure> {
    match options.how.fabric {
        _ if options.wanted.plan_only => {
            let pattern = options.pattern.subject(options.how.ranks)?.into_file("--plan-only")?;
            plan_only::run(&*pattern, &options.how, options.wanted.json)
        }
        Fabric::Threads => on_threads(options),
        Fabric::Mpi => on_mpi(options),
    }
}

/// Inputs of a replay, checked before it touches a file.
struct Prepared {
    hints: Hints,
    subject: Subject,
    /// File of the replay; only on the process that reports.
    output: Option<Output>,
}

/// Reads and checks the whole command line.
fn prepare(options: &ReplayOptions, ranks: Option<usize>, reports: bool) -> Result<Prepared, Failure> {
    let mut hints = hints::of_replay(&options.how)?;
    let subject = options.pattern.subject(ranks)?;
    hints.check(subject.ranks())?;
    if matches!(&subject, Subject::File(pattern) if pattern.overlaps()) {
        // The serial file has the highest rank's bytes where ranks overlap, so the replay must too.
        hints.overlap = Overlap::RankOrder;
    }
    let output = match &subject {
        Subject::Exchange(_) => {
            exchange::check(options)?;
            None
        }
        Subject::File(pattern) => {
            check_format(options, &**pattern)?;
            check_limits(options, &**pattern)?;
            reports.then(|| Output::from_wanted(&options.wanted)).transpose()?
        }
    };
    Ok(Prepared { hints, subject, output })
}

/// Checks that the pattern can be written in this format from these buffers.
fn check_format(options: &ReplayOptions, pattern: &dyn Pattern) -> Result<(), Failure> {
    let (how, wanted) = (&options.how, &options.wanted);
    if how.format == FileFormat::Raw {
        return Ok(());
    }
    if pattern.netcdf().is_none() {
        let allowed = "allowed: raw, or a pattern that is a NetCDF file (e3sm-*, flash, btio)";
        return Err(Failure::new(format!("--format netcdf: {} has no NetCDF form; {allowed}", pattern.name())));
    }
    if how.buffer == Some(MemoryLayout::Noncontiguous) && !wanted.read && wanted.read_only.is_none() {
        let packs = "the NetCDF writer packs what it writes; allowed: contiguous, or --read, which it applies to";
        return Err(Failure::new(format!("--buffer noncontiguous: {packs}")));
    }
    Ok(())
}

/// Checks that memory, threads and disk space suffice. Only for threads: on MPI, ranks and file may be on other hosts.
fn check_limits(options: &ReplayOptions, pattern: &dyn Pattern) -> Result<(), Failure> {
    if options.how.fabric == Fabric::Mpi {
        return Ok(());
    }
    let (ranks, steps, totals) = (pattern.ranks() as u64, pattern.steps().max(1) as u64, pattern.totals());
    limits::at_most("ranks", ranks, limits::MOST_THREADS as u64)?;
    let name = pattern.name();
    // The bytes of a call, in the buffers of ranks and of aggregators; and its lists.
    let lists = (totals.requests / steps).checked_mul(EXTENT);
    let needed = (totals.bytes / steps).checked_mul(2).and_then(|bytes| bytes.checked_add(lists?));
    let what = format!("{name}: {} bytes in {} requests in {steps} call(s)", totals.bytes, totals.requests);
    limits::in_memory_of_ranks(&what, needed, ranks)?;
    if options.wanted.read_only.is_some() {
        return Ok(());
    }
    let given = options.wanted.output.as_deref().and_then(Path::parent).filter(|path| !path.as_os_str().is_empty());
    let directory = given.map_or_else(
        || options.wanted.output.as_ref().map_or_else(std::env::temp_dir, |_| ".".into()),
        Path::to_path_buf,
    );
    limits::in_directory(&format!("{name}: a file of {} bytes", totals.file_size), totals.bytes, &directory)
}

fn task<'a>(options: &'a ReplayOptions, pattern: &'a dyn Pattern, path: &'a Path, hints: &'a Hints) -> ReplayTask<'a> {
    let (how, wanted) = (&options.how, &options.wanted);
    let calls = match (&wanted.read_only, wanted.read) {
        (Some(_), _) => Wished::Read,
        (None, true) => Wished::WriteAndRead,
        (None, false) => Wished::Write,
    };
    let compared = wanted.verify || wanted.read;
    ReplayTask { pattern, path, hints, buffer: how.buffer, format: how.format, calls, compared }
}

fn on_threads(options: &ReplayOptions) -> Result<(), Failure> {
    let Prepared { hints, subject, output } = prepare(options, options.how.ranks, true)?;
    let nobody = || Failure::new("no ranks");
    match (subject, output) {
        (Subject::File(pattern), Some(output)) => {
            let task = task(options, &*pattern, output.path(), &hints);
            let outcomes = threads::run(pattern.ranks(), |transport| {
                task.run(Endpoint::new(transport)).map(|(outcome, _)| outcome)
            })?;
            let outcome = outcomes.into_iter().next().ok_or_else(nobody)?;
            let outcome = outcome.map_err(|error| output.failed(error))?;
            finish(options, &*pattern, &hints, &output, &outcome)
        }
        (Subject::Exchange(trace), _) => {
            let replay = Replay::new(trace.clone());
            let program = |transport| exchange::run(Endpoint::new(transport), &replay, &hints);
            let outcome = threads::run(trace.ranks(), program)?.into_iter().next().ok_or_else(nobody)??;
            say_exchange(
                options,
                &exchange::ReplayedExchange {
                    trace: &trace,
                    hints: &hints,
                    fabric: Fabric::Threads,
                    outcome: &outcome,
                },
            )
        }
        (Subject::File(_), None) => Err(nobody()),
    }
}

/// Runs the replay on MPI, in every process. All processes agree on errors before they touch the file.
fn on_mpi(options: &ReplayOptions) -> Result<(), Failure> {
    let world = mpi::initialise()?;
    let mut endpoint = Endpoint::new(Box::new(world.endpoint()?));
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let prints = rank == 0;
    let waiting = endpoint.waiting().clone();
    let prepared = match options.how.ranks {
        Some(wanted) if wanted != ranks => {
            Err(Failure::new(format!("ranks: mpiexec started {ranks}, but --ranks is another number")))
        }
        _ => prepare(options, Some(ranks), prints),
    };
    let Prepared { hints, subject, output } = agreed(&mut endpoint, prepared)?;
    let pattern = match subject {
        Subject::File(pattern) => pattern,
        Subject::Exchange(trace) => {
            let outcome = exchange::run(endpoint, &Replay::new(trace.clone()), &hints);
            let outcome = outcome.map_err(|failure| failure.said_by(prints))?;
            let replayed =
                exchange::ReplayedExchange { trace: &trace, hints: &hints, fabric: Fabric::Mpi, outcome: &outcome };
            return if prints { say_exchange(options, &replayed) } else { Ok(()) };
        }
    };
    let path = output.as_ref().map_or_else(Vec::new, |o| o.path().as_os_str().as_encoded_bytes().to_vec());
    let path = waiting.wait(pin!(broadcast(&mut endpoint, 0, &path)))?;
    let path = PathBuf::from(OsString::from_vec(path));
    let outcome = task(options, &*pattern, &path, &hints).run(endpoint).map(|(outcome, _)| outcome);
    let Some(output) = output else {
        return outcome.map(|_| ()).map_err(|error| Failure::new(error).said_by(false));
    };
    let outcome = outcome.map_err(|error| output.failed(error))?;
    finish(options, &*pattern, &hints, &output, &outcome)
}

/// Prints the report of an exchange.
fn say_exchange(options: &ReplayOptions, replayed: &exchange::ReplayedExchange<'_>) -> Result<(), Failure> {
    if options.wanted.json { say(exchange::json(replayed)) } else { say(exchange::table(replayed)) }
}

/// Verifies the file, if the options ask for it, and prints the report.
fn finish(
    options: &ReplayOptions,
    pattern: &dyn Pattern,
    hints: &Hints,
    output: &Output,
    outcome: &RunOutcome,
) -> Result<(), Failure> {
    // With --read-only, the ranks have compared their buffers already.
    let compared = (options.wanted.verify && outcome.done.wrote())
        .then(|| verify::compare(pattern, options.how.format, output.path()));
    let right = outcome.done.read().and_then(|read| read.right.clone());
    let right = right.map(|right| right.map_err(|what| Failure::new(format!("not verified: {what}"))));
    let verified = [compared, right].into_iter().flatten().reduce(Result::and);
    let replayed = Replayed {
        pattern,
        hints,
        outcome,
        fabric: options.how.fabric,
        format: options.how.format,
        output: output.kept(),
        verified: verified.as_ref().map(Result::is_ok),
        sha256: (!options.wanted.no_digest).then(|| verify::sha256(output.path())).transpose()?,
    };
    if options.wanted.json {
        say(report::json(&replayed))?;
    } else {
        say(report::table(&replayed))?;
    }
    verified.unwrap_or(Ok(()))
}
