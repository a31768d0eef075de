//! `trib replay`: a pattern, a fabric, one collective write, a report.

use std::path::{Path, PathBuf};

use tributary::fabric::threads;
use tributary::{Endpoint, Hints};
use tributary_benchmarks::Pattern;

use crate::cli::{Fabric, ReplayOptions};
use crate::rank_program::{self, Outcome};
use crate::report::{self, Replayed};
use crate::{Failure, say};
use crate::{hints, plan_only, source, verify};

/// Runs a replay.
pub fn run(options: &ReplayOptions) -> Result<(), Failure> {
    match options.fabric {
        _ if options.plan_only => {
            let hints = hints::of_replay(options)?;
            let pattern = source::pattern(options, options.ranks)?;
            plan_only::run(&*pattern, &hints, options.json)
        }
        Fabric::Threads => on_threads(options),
        Fabric::Mpi => on_mpi(options),
    }
}

fn on_threads(options: &ReplayOptions) -> Result<(), Failure> {
    let hints = hints::of_replay(options)?;
    let pattern = source::pattern(options, options.ranks)?;
    hints.check(pattern.ranks())?;
    let output = Output::of(options)?;
    let program = |transport| rank_program::write(Endpoint::new(transport), &*pattern, output.path(), &hints);
    let outcomes = threads::run(pattern.ranks(), program)?;
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
        if options.ranks.is_some_and(|wanted| wanted != ranks) {
            return Err(Failure::new(format!("ranks: {ranks} were started by mpiexec; --ranks asks for others")));
        }
        let hints = hints::of_replay(options)?;
        let pattern = source::pattern(options, Some(ranks))?;
        hints.check(ranks)?;
        Ok((hints, pattern, if speaks { Some(Output::of(options)?) } else { None }))
    })();
    let prepared = prepared.map_err(|failure: Failure| Error::argument("replay", failure.line, ""));
    let told = waiting.wait(pin!(agree(&mut endpoint, prepared)));
    let (hints, pattern, output) = told.map_err(|error| match error {
        Error::Argument { value, .. } => Failure::new(value).said_by(speaks),
        other => Failure::new(other).said_by(speaks),
    })?;
    let path = output.as_ref().map_or_else(Vec::new, |o| o.path().as_os_str().as_encoded_bytes().to_vec());
    let path = waiting.wait(pin!(broadcast(&mut endpoint, 0, &path)))?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    let outcome = rank_program::write(endpoint, &*pattern, &path, &hints);
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
    let verified = options.verify.then(|| verify::compare(pattern, output.path()));
    let replayed = Replayed {
        pattern,
        hints,
        outcome: &outcome,
        fabric: options.fabric,
        output: output.kept(),
        verified: verified.as_ref().map(Result::is_ok),
        sha256: verify::sha256(output.path())?,
    };
    if options.json {
        say(report::json(&replayed))?;
    } else {
        say(report::table(&replayed))?;
    }
    verified.unwrap_or(Ok(()))
}

/// The file that is written: the user's, or a temporary one.
enum Output {
    Kept(PathBuf),
    Temporary(tempfile::TempPath),
}

impl Output {
    fn of(options: &ReplayOptions) -> Result<Self, Failure> {
        if let Some(path) = &options.output {
            return Ok(Self::Kept(path.clone()));
        }
        let file = tempfile::Builder::new().prefix("trib-").suffix(".out").tempfile();
        let fail = |cause| Failure::new(format!("no temporary file in {}: {cause}", std::env::temp_dir().display()));
        Ok(Self::Temporary(file.map_err(fail)?.into_temp_path()))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(path) => path,
        }
    }

    fn kept(&self) -> Option<&Path> {
        match self {
            Self::Kept(path) => Some(path),
            Self::Temporary(_) => None,
        }
    }

    /// The error, and what has become of the file.
    fn failed(&self, error: tributary::Error) -> Failure {
        let begun =
            matches!(&error, tributary::Error::Io { operation, .. } if operation == "write" || operation == "read");
        Failure::new(match self.kept().filter(|_| begun) {
            Some(path) => format!("{error}; {} is incomplete", path.display()),
            None => error.to_string(),
        })
    }
}
