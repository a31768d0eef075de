//! Library of `trib`, the command line of Tributary, and of `trib-lab`.
//!
//! Modules without a command of their own:
//!
//! | module | holds |
//! |---|---|
//! | [`cli`] | options and their help |
//! | [`source`] | the patterns |
//! | [`rank_program`], [`calls`], [`agreement`] | the program of each rank, the sums of its calls, errors that ranks agree on |
//! | [`listing`], [`report`], [`progress()`], [`rest`] | tables, the report of a replay, a progress bar and its remaining time |
//! | [`launcher`] | launchers of MPI programs, and the library that is preloaded |
//! | [`numbers`] | numbers as text |
//! | [`limits`], [`text`], `variables` | limits of a run, text files that a user names, known environment variables |
//! | [`verify`], [`parallel`] | the comparison with a reference file, work on all processors |

pub mod agreement;
mod buffers;
pub mod calls;
pub mod capture;
pub mod cli;
pub mod compare;
mod doctor;
pub mod exchange;
pub mod explain;
#[cfg(test)]
#[allow(dead_code, reason = "trib-lab uses the rest")]
mod generated;
pub mod hints;
pub mod launcher;
pub mod limits;
pub mod listing;
mod manual;
pub mod numbers;
mod output;
pub mod parallel;
pub mod picture;
mod plan_only;
pub mod rank_program;
mod replay;
pub mod report;
pub mod rest;
mod run;
pub mod source;
pub mod text;
mod variables;
pub mod verify;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use indicatif::ProgressBar;

use cli::{Cli, Command};

/// Error of a command: one line, which one process prints.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// True if the error is a missing command-line parameter.
    missing: bool,
    /// True if this process prints the error (under MPI only rank 0 does).
    prints: bool,
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
    /// Creates a failure that this process prints.
    pub fn new(line: impl ToString) -> Self {
        Self { line: line.to_string(), missing: false, prints: true }
    }

    /// Creates the failure of a required parameter that is missing.
    pub fn missing(parameter: &str) -> Self {
        Self { missing: true, ..Self::new(format!("{parameter} is missing")) }
    }

    /// Returns true if [`Failure::missing`] made this failure.
    pub fn is_of_a_missing_parameter(&self) -> bool {
        self.missing
    }

    /// Returns the same failure, which this process prints only if `prints`.
    pub fn said_by(self, prints: bool) -> Self {
        Self { prints, ..self }
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

/// Returns a progress bar of `length` steps on standard error, if that is a terminal.
pub fn progress(length: u64, what: &'static str) -> ProgressBar {
    let style = rest::style("{msg} {wide_bar} {pos}/{len}, {elapsed}, {left}");
    ProgressBar::new(length).with_style(style).with_message(what)
}

/// Returns true if messages may have colours: on a terminal, unless NO_COLOR is set.
fn is_coloured(is_terminal: bool, no_color: Option<OsString>) -> bool {
    is_terminal && no_color.is_none_or(|value| value.is_empty())
}

/// Runs a command of the program `name`. Messages and the error go to standard error.
pub fn run(name: &str, command: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_env("TRIB_LOG").unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured(std::io::stderr().is_terminal(), std::env::var_os("NO_COLOR")))
        .init();
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.prints {
                // In one piece: a launcher mixes pieces with its own lines.
                let line = format!("{name}: {}\n", failure.line);
                eprint!("{line}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Runs the program `trib`.
pub fn main() -> ExitCode {
    let command = cli::parse::<Cli>("trib", cli::groups::grouped).command;
    run("trib", || match command {
        Command::Run(options) => run::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Hints(options) => hints::run(&options),
        Command::Compare(options) => doctor::check_launcher(&options.command).and_then(|()| compare::run(&options)),
        Command::Capture(command) => capture::run(&command),
        Command::Explain(options) => explain::run(&options),
        Command::Manual(options) => manual::run(&options),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn colours_are_for_terminals() {
        for (is_terminal, no_color, due) in
            [(true, None, true), (true, Some(""), true), (true, Some("1"), false), (false, None, false)]
        {
            assert_eq!(super::is_coloured(is_terminal, no_color.map(Into::into)), due, "{is_terminal} {no_color:?}");
        }
    }
}
