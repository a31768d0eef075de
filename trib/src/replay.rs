//! `trib replay`: a pattern, a fabric, its collective calls, a report.

use tributary::fabric::threads;
use tributary::{Endpoint, Hints};
use tributary_benchmarks::Pattern;

use crate::cli::replay::{Fabric, ReplayOptions};
use crate::output::Output;
use crate::rank_program::{Outcome, Task};
use crate::report::{self, Replayed};
use crate::{Failure, say};
use crate::{hints, plan_only, verify};

/// Runs a replay.
pub fn run(options: &ReplayOptions) -> Result<(), Failure> {
    match options.how.fabric {
        _ if options.wanted.plan_only => {
            let pattern = options.pattern.pattern(options.how.ranks)?;
            plan_only::run(&*pattern, &options.how, options.wanted.json)
        }
        Fabric::Threads => on_threads(options),
        Fabric::Mpi => on_mpi(options),
    }
}

fn on_threads(options: &ReplayOptions) -> Result<(), Failure> {
    let hints = hints::of_replay(&options.how)?;
    let pattern = options.pattern.pattern(options.how.ranks)?;
    hints.check(pattern.ranks())?;
    let output = Output::at(options.wanted.output.as_deref())?;
    let task = Task { pattern: &*pattern, path: output.path(), hints: &hints, buffer: options.how.buffer };
    let outcomes = threads::run(pattern.ranks(), |transport| task.run(Endpoint::new(transport)))?;
    let outcome = outcomes.into_iter().next().ok_or_else(|| Failure::new("no ranks"))?;
    let outcome = outcome.map_err(|error| output.failed(error))?;
    conclude(options, &*pattern, &hints, output, outcome)
}

#[cfg(not(feature = "mpi"))]
fn on_mpi(_options: &ReplayOptions) -> Result<(), Failure> {
    Err(Failure::new("fabric mpi: this trib was built without it; build with `cargo build --release --features mpi`"))
}

/// Every process comes here. What can fail on one alone is agreed before the file is touched.
#[cfg(feature = "mpi")]
fn on_mpi(options: &ReplayOptions) -> Result<(), Failure> {
    use std::os::unix::ffi::OsStringExt;
    use std::pin::pin;
    use tributary::Error;
    use tributary::collectives::{agree, broadcast};

    let world = tributary::fabric::mpi::initialise()?;
    let mut endpoint = Endpoint::new(Box::new(world.endpoint()?));
    let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
    let speaks = rank == 0;
    let waiting = endpoint.waiting().clone();
    let prepared = (|| {
        if options.how.ranks.is_some_and(|wanted| wanted != ranks) {
            return Err(Failure::new(format!("ranks: {ranks} were started by mpiexec; --ranks asks for others")));
        }
        let hints = hints::of_replay(&options.how)?;
        let pattern = options.pattern.pattern(Some(ranks))?;
        hints.check(ranks)?;
        Ok((hints, pattern, if speaks { Some(Output::at(options.wanted.output.as_deref())?) } else { None }))
    })();
    let prepared = prepared.map_err(|failure: Failure| Error::argument("replay", failure.line, ""));
    let told = waiting.wait(pin!(agree(&mut endpoint, prepared)));
    let (hints, pattern, output) = told.map_err(|error| match error {
        Error::Argument { value, .. } => Failure::new(value).said_by(speaks),
        other => Failure::new(other).said_by(speaks),
    })?;
    let path = output.as_ref().map_or_else(Vec::new, |o| o.path().as_os_str().as_encoded_bytes().to_vec());
    let path = waiting.wait(pin!(broadcast(&mut endpoint, 0, &path)))?;
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(path));
    let task = Task { pattern: &*pattern, path: &path, hints: &hints, buffer: options.how.buffer };
    let outcome = task.run(endpoint);
    let Some(output) = output else {
        return outcome.map(|_| ()).map_err(|error| Failure::new(error).said_by(false));
    };
    let outcome = outcome.map_err(|error| output.failed(error))?;
    conclude(options, &*pattern, &hints, output, outcome)
}

fn conclude(
    options: &ReplayOptions,
    pattern: &dyn Pattern,
    hints: &Hints,
    output: Output,
    outcome: Outcome,
) -> Result<(), Failure> {
    let verified = options.wanted.verify.then(|| verify::compare(pattern, output.path()));
    let replayed = Replayed {
        pattern,
        hints,
        outcome: &outcome,
        fabric: options.how.fabric,
        output: output.kept(),
        verified: verified.as_ref().map(Result::is_ok),
        sha256: verify::sha256(output.path())?,
    };
    if options.wanted.json {
        say(report::json(&replayed))?;
    } else {
        say(report::table(&replayed))?;
    }
    verified.unwrap_or(Ok(()))
}
