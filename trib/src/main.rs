//! `trib`: the command line of Tributary.

mod advise;
mod agreement;
mod algorithms;
mod buffers;
mod calls;
mod capture;
mod cli;
mod compare;
mod document;
mod exchange;
mod explain;
#[cfg(test)]
mod generated;
mod guidelines;
mod hints;
mod hsumma;
mod limits;
mod listing;
mod lists;
mod map;
mod output;
mod patterns;
mod picture;
mod plan_only;
mod rank_program;
mod replay;
mod report;
mod reproduce;
mod sim;
mod source;
mod sweep;
mod text;
mod tune;
mod verify;

use cli::Command;
use cli::sim::BenchCommand;

/// The error of a command: one line, which one process prints.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// Whether the error is a missing parameter.
    missing: bool,
    /// Whether this process prints it (under MPI only rank 0 does).
    speaks: bool,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.line)
    }
}

impl Failure {
    /// A failure that this process prints.
    pub fn new(line: impl ToString) -> Self {
        Self { line: line.to_string(), missing: false, speaks: true }
    }

    /// A required parameter is missing.
    pub fn missing(parameter: &str) -> Self {
        Self { missing: true, ..Self::new(format!("{parameter} is missing")) }
    }

    /// Whether it was made by [`Failure::missing`].
    pub fn is_of_a_missing_parameter(&self) -> bool {
        self.missing
    }

    /// The same error, printed only if `speaks`.
    pub fn said_by(self, speaks: bool) -> Self {
        Self { speaks, ..self }
    }
}

/// Prints a result. A closed pipe (`trib hints | head`) is not an error.
pub fn say(text: impl std::fmt::Display) -> Result<(), Failure> {
    use std::io::Write;
    match writeln!(std::io::stdout(), "{text}") {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::new(format!("output: {cause}"))),
        _ => Ok(()),
    }
}

fn main() -> std::process::ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_env("TRIB_LOG").unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    let outcome = match cli::parse().command {
        Command::Replay(options) => replay::run(&options),
        Command::Patterns(options) => patterns::run(&options),
        Command::Picture(options) => picture::run(&options),
        Command::Lists(options) => lists::run(&options),
        Command::Hints(options) => hints::run(&options),
        Command::Algorithms(options) => algorithms::run(&options),
        Command::Tune(options) => tune::run(&options),
        Command::Hsumma(options) => hsumma::run(&options),
        Command::Sim(command) => sim::run(&command),
        Command::Bench(BenchCommand::Sim(options)) => sim::bench::run(&options),
        Command::Guidelines(options) => guidelines::run(&options),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Capture(command) => capture::run(&command),
        Command::Advise(options) => advise::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Map(options) => map::run(&options),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => {
            if failure.speaks {
                eprintln!("trib: {}", failure.line);
            }
            std::process::ExitCode::FAILURE
        }
    }
}
