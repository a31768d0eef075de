//! The options of `trib` and their help texts.
//!
//! | module | holds |
//! |---|---|
//! | [`replay`] | the options that all replays share |
//! | [`run`] | options of a run with the library |
//! | [`groups`] | the commands in groups, for the help of all |
//! | [`doctor`] | options of the look at a program and its surroundings |
//! | [`capture`] | options of commands on captures |
//! | [`values`] | parsers of option values |
//! | [`advise`] | options of advice for a capture |
//! | [`compare`] | options of the comparison with an MPI library |
//! | [`hosts`] | options of emulated hosts |
//! | [`patterns`] | options of the lists and pictures of patterns |
//! | [`tune`] | options of tuning |
//!
//! The parameters of each pattern are in [`crate::source`], one file for each.

pub mod advise;
pub mod capture;
pub mod compare;
pub mod doctor;
pub mod groups;
pub mod hosts;
pub mod patterns;
pub mod replay;
pub mod run;
pub mod tune;
pub mod values;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand};

use advise::AdviseOptions;
use capture::{CaptureCommand, ExplainOptions};
use compare::CompareOptions;
use doctor::DoctorOptions;
use hosts::HostsOptions;
use patterns::{ListsOptions, PatternsOptions, PictureOptions};
use replay::ReplayOptions;
use run::RunOptions;
use tune::TuneCommand;

/// Runs MPI programs with the Tributary library, shows where their collective I/O takes time, and replays and verifies the writes of
/// real programs.
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
  trib patterns
      lists all patterns; with a name, shows the parameters and counts of the pattern";

/// Parses the command line of the program `name`. A mistake is printed in one line and ends the process with exit code 2; help
/// and version end it with 0. `help` may change how help is shown.
pub fn parse<C: Parser>(name: &str, help: impl FnOnce(clap::Command) -> clap::Command) -> C {
    let parsed = help(C::command()).try_get_matches().and_then(|matches| C::from_arg_matches(&matches));
    parsed.unwrap_or_else(|error| {
        if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            error.exit();
        }
        let said = moved().filter(|_| name == "trib").unwrap_or_else(|| one_line(&error.to_string()));
        eprintln!("{name}: {said}");
        std::process::exit(2);
    })
}

/// Commands that were of `trib` and are now of `trib-lab`, and what they are called there.
const MOVED: [(&str, &str); 8] = [
    ("algorithms", "algorithms"),
    ("bench", "bench"),
    ("compare --from", "figures"),
    ("guidelines", "guidelines"),
    ("hsumma", "hsumma"),
    ("reproduce", "reproduce"),
    ("sim", "sim"),
    ("tune kernels", "tune kernels"),
];

/// Where the command of this process is now, if it is such a one.
fn moved() -> Option<String> {
    let line = std::env::args().skip(1).take(2).collect::<Vec<_>>().join(" ");
    let (old, new) = MOVED.iter().find(|(old, _)| line == *old || line.starts_with(&format!("{old} ")))?;
    Some(format!("`trib {old}` is now `trib-lab {new}`"))
}

/// Clap's error message without the usage, which `--help` shows.
fn one_line(error: &str) -> String {
    let lines = error.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").to_string()
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
    /// List the patterns, or show one: its parameters, and its counts for any number of ranks.
    Patterns(PatternsOptions),
    /// Draw as SVG which rank owns which bytes of a pattern.
    Picture(PictureOptions),
    /// Write a pattern's extents to list files, so that other programs can write the same.
    Lists(ListsOptions),
    /// List all hints, or show one: value, default, unit, meaning, and when to set the hint.
    Hints(HintsOptions),
    /// Measure the cost of messages on this machine, for the hint trib_machine.
    #[command(subcommand)]
    Tune(TuneCommand),
    /// Compare the I/O of an MPI library with and without the preload library, on patterns or on your program.
    Compare(Box<CompareOptions>),
    /// Run a command on emulated hosts of this machine, which every MPI launcher that it starts finds.
    Hosts(HostsOptions),
    /// Describe a capture of a program, write its calls as lists, merge captures, or make one from a log of Darshan.
    #[command(subcommand)]
    Capture(CaptureCommand),
    /// Find hints that speed up the write of a capture on a machine, by simulating candidates.
    Advise(AdviseOptions),
    /// Explain a capture: what the program did, what took time, which ranks waited for which, and what would be faster.
    Explain(ExplainOptions),
    /// Write a generated decomposition map in the format of E3SM-IO.
    Map(MapOptions),
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

/// Options of `trib map`.
#[derive(Args)]
pub struct MapOptions {
    /// Number of ranks.
    #[arg(long, value_name = "P", value_parser = values::ranks)]
    pub ranks: usize,
    /// Number of columns of each rank.
    #[arg(long, default_value_t = 36)]
    pub columns_per_rank: u32,
    /// Number of runs of adjacent columns of each rank.
    #[arg(long, default_value_t = 13)]
    pub groups: u32,
    /// Seed of the permutation of ranks.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
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

    /// Clap checks names, conflicts and defaults of the whole tree.
    #[test]
    fn the_tree_of_commands_is_sound() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn the_page_in_docs_has_every_command() {
        crate::generated::assert_commands(&super::Cli::command());
    }
}
