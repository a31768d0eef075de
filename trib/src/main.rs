//! `trib`: the command line of Tributary.

mod cli;
mod hints;
mod map;
mod plan_only;
mod rank_program;
mod replay;
mod report;
mod source;
mod verify;

use clap::Parser;

use cli::{Cli, Command};

/// What a command that failed leaves for the user: one line, printed by the rank that speaks.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// Whether this process prints it (under MPI only rank 0 does).
    speaks: bool,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}

impl Failure {
    /// A failure that this process prints.
    pub fn new(line: impl ToString) -> Self {
        Self { line: line.to_string(), speaks: true }
    }

    /// The same, printed only if `speaks`.
    pub fn said_by(self, speaks: bool) -> Self {
        Self { speaks, ..self }
    }
}

/// Prints a result. A reader that has seen enough (`trib hints | head`) is no failure.
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
    let outcome = match Cli::parse().command {
        Command::Replay(options) => replay::run(&options),
        Command::Hints(options) => hints::run(&options),
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
