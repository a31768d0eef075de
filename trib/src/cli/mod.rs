//! The options of `trib` and their help texts.
//!
//! | module | holds |
//! |---|---|
//! | [`replay`] | the options that all replays share |
//! | [`run`] | options of a run with the library |
//! | [`groups`] | the commands in groups, for the help of all |
//! | [`doctor`] | options of the check of a program and its environment |
//! | [`capture`] | options of commands on captures |
//! | [`slow_file`] | options of a slow file system |
//! | [`values`] | parsers of option values |
//! | `mistake` | the messages about a command line that cannot be parsed |
//! | [`compare`] | options of the comparison with an MPI library |
//!
//! The parameters of each pattern are in [`crate::source`], one file for each.

pub mod capture;
pub mod compare;
pub mod doctor;
pub mod groups;
mod mistake;
pub mod replay;
pub mod run;
pub mod slow_file;
pub mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand};

use capture::{CaptureCommand, ExplainOptions};
use compare::CompareOptions;
use doctor::DoctorOptions;
use replay::ReplayOptions;
use run::RunOptions;

/// Runs MPI programs with the Tributary library, shows where their collective I/O takes time, and replays and verifies
/// the writes of real programs.
#[derive(Parser)]
#[command(version, max_term_width = 110, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print help
    // One page per command: by default clap has a longer form too, with a paragraph for each option.
    #[arg(short, long, action = ArgAction::HelpShort, global = true)]
    help: Option<bool>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trib run --report -- mpiexec -n 16 ./program
      runs your program with the library, and prints a table for each file
  trib replay e3sm-f --verify
      writes the requests of the climate model, with 16 threads as ranks
  trib replay flash --ranks 16 --part checkpoint --read
      writes the checkpoint of FLASH, reads it back and compares
  trib replay e3sm-f --map map.nc --driver lustre --kernel two_layer --ranks-per-node 4
      uses a real map, the stripes of Lustre, and local aggregators on nodes of 4 ranks
  mpiexec -n 16 trib replay e3sm-f --fabric mpi --verify
      does the same on MPI
  trib replay e3sm-f --ranks 21600 --plan-only
      counts the messages of a production run
  trib replay --help
      lists all patterns";

/// Parses the command line of the program `name`. Prints a mistake in one line and ends the process with exit code 2;
/// help and version end it with 0. `help` may change how help is shown.
pub fn parse<C: Parser>(name: &str, help: impl FnOnce(clap::Command) -> clap::Command) -> C {
    let mut command = help(C::command());
    let mut words: Vec<OsString> = std::env::args_os().collect();
    mistake::help_as_option(&mut words);
    let parsed = command.try_get_matches_from_mut(&words).and_then(|matches| C::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| {
        if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            error.exit();
        }
        let words: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        eprintln!("{name}: {}", mistake::line(&command, &words, &error));
        std::process::exit(2);
    })
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Run an MPI program with the preload library in its ranks.
    Run(RunOptions),
    /// Check a program, its MPI library, a file system and hints, and print problems and what to do about them.
    Doctor(DoctorOptions),
    /// Replay the collective calls of an application.
    Replay(ReplayOptions),
    /// List all hints with their values, or explain one: default, allowed values, meaning, and when to set the hint.
    Hints(HintsOptions),
    /// Compare your program with and without the preload library, in alternation.
    Compare(Box<CompareOptions>),
    /// Describe a capture of a program, write its calls as lists, or merge several captures.
    #[command(subcommand)]
    Capture(CaptureCommand),
    /// Explain a capture: what the program did, what took time, which ranks waited for which, and what would be faster.
    Explain(ExplainOptions),
    /// Write manual pages and completions of shells, as `bindings/install` installs them.
    #[command(hide = true)]
    Manual(ManualOptions),
}

/// Options of `trib hints`.
#[derive(Args)]
pub struct HintsOptions {
    /// Show only this hint.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Set this hint, which overrides the environment, and show the effect; may be repeated.
    #[arg(long = "hint", value_name = "KEY=VALUE")]
    pub hints: Vec<String>,
    /// Print a JSON array.
    #[arg(long)]
    pub json: bool,
}

/// Options of `trib manual`.
#[derive(Args)]
pub struct ManualOptions {
    /// The directory of the shared data of an installation: man/man1, bash-completion and so on are made in it.
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// Checks names, conflicts and defaults of the whole tree of commands.
    #[test]
    fn the_tree_of_commands_is_sound() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn the_page_in_docs_has_every_command() {
        crate::generated::assert_commands(&super::Cli::command(), "docs/reference/command-line.md");
    }
}
