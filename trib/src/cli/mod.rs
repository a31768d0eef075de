//! The options of `trib`, and the help one reads.
//!
//! | module | holds |
//! |---|---|
//! | [`replay`] | the options all replays share |
//! | [`capture`] | options of commands on captures |
//! | [`compare`] | options of comparisons |
//! | [`reproduce`] | options of the papers' claims |
//! | [`sim`] | options of the simulator |
//! | [`values`] | values of options that are more than a number |
//! | [`advise`] | options of advice for a capture |
//! | [`algorithms`] | options of the list and the pictures of algorithms |
//! | [`compare`] | options of the comparison with an MPI library |
//! | [`guidelines`] | options of the benchmark of gather and scatter |
//! | [`patterns`] | options of the lists and pictures of patterns |
//! | [`tune`], [`hsumma`] | options of measurements |
//!
//! The parameters of each pattern are in [`crate::source`], a file each.

pub mod advise;
pub mod algorithms;
pub mod capture;
pub mod compare;
pub mod guidelines;
pub mod hsumma;
pub mod patterns;
pub mod replay;
pub mod reproduce;
pub mod sim;
pub mod tune;
pub mod values;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand};

use advise::AdviseOptions;
use algorithms::AlgorithmsOptions;
use capture::{CaptureCommand, ExplainOptions};
use compare::CompareOptions;
use guidelines::GuidelinesOptions;
use hsumma::HsummaOptions;
use patterns::{ListsOptions, PatternsOptions, PictureOptions};
use replay::ReplayOptions;
use reproduce::ReproduceOptions;
use sim::{BenchCommand, SimCommand};
use tune::TuneOptions;

/// Collective I/O, from a laptop to a supercomputer: replay the write of a real code, verify it byte for byte, see where
/// the time goes, plan it for any number of ranks.
#[derive(Parser)]
#[command(version, max_term_width = 110, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print help
    // One page a command: clap would choose a longer form, with a paragraph for each option, by itself.
    #[arg(short, long, action = ArgAction::HelpShort, global = true)]
    help: Option<bool>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trib replay e3sm-f --verify
      the climate model's write, 16 ranks as threads
  trib replay flash --ranks 16 --part checkpoint --read
      FLASH's checkpoint, written, read back and compared
  trib replay e3sm-f --map map.nc --driver lustre --kernel two_layer --ranks-per-node 4
      a real map, stripes, local aggregators on pretended nodes
  mpiexec -n 16 trib replay e3sm-f --fabric mpi --verify
      the same on MPI (built with --features mpi)
  trib replay e3sm-f --ranks 21600 --plan-only
      what production would exchange
  trib sim all-to-many --machine cori-knl --ranks 2048 --receivers 32 --iterations 64
      what an exchange would take on Cori
  trib reproduce --quick
      which of the papers' claims the simulator reproduces
  trib patterns
      all patterns; with a name: its parameters and what its arithmetic says";

/// The command line of this process. What is wrong with it is one line, and the process's end with exit code 2; help and
/// version end it with 0.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            error.exit();
        }
        eprintln!("trib: {}", one_line(&error.to_string()));
        std::process::exit(2);
    })
}

/// Clap's words without the usage, which `--help` shows.
fn one_line(error: &str) -> String {
    let lines = error.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").to_string()
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Replay the collective calls of an application.
    Replay(ReplayOptions),
    /// List the patterns; or one, with its parameters and its arithmetic for any number of ranks.
    Patterns(PatternsOptions),
    /// Draw who owns what of a pattern, as SVG.
    Picture(PictureOptions),
    /// Write who writes what of a pattern as lists of offset and length, for other programs to write the same.
    Lists(ListsOptions),
    /// List all hints: value, default, unit, meaning.
    Hints(HintsOptions),
    /// List the collective algorithms and exchange kernels, counted for any number of ranks; or draw one.
    Algorithms(AlgorithmsOptions),
    /// Measure what is the fastest here, for a hint to use.
    Tune(TuneOptions),
    /// Multiply matrices by SUMMA and by hierarchical SUMMA, and say what the broadcasts cost.
    Hsumma(HsummaOptions),
    /// Simulate exchanges on machines that are not here.
    #[command(subcommand)]
    Sim(SimCommand),
    /// Measure parts of Tributary on this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Hold what five papers claim to what is measured or simulated here.
    Reproduce(ReproduceOptions),
    /// Hold MPI's gather and scatter, and ours, to the performance guidelines for irregular ones (under mpiexec).
    Guidelines(GuidelinesOptions),
    /// Compare an MPI library's own path with the preload library: patterns, or a program of yours.
    Compare(CompareOptions),
    /// Say what a capture of a real program has, write its lists, merge several.
    #[command(subcommand)]
    Capture(CaptureCommand),
    /// Find the hints that the write of a capture would gain by on a machine, by simulating candidates.
    Advise(AdviseOptions),
    /// Explain a capture: what the program did, where the time went, who waited for whom, and what would be faster.
    Explain(ExplainOptions),
    /// Write a generated decomposition map in the format of E3SM-IO.
    Map(MapOptions),
}

/// Options of `trib hints`.
#[derive(Args)]
pub struct HintsOptions {
    /// Hints to show in force, on top of those of the environment.
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
    /// Columns each rank owns.
    #[arg(long, default_value_t = 36)]
    pub columns_per_rank: u32,
    /// Runs in which it owns them.
    #[arg(long, default_value_t = 13)]
    pub groups: u32,
    /// Seed of the permutation of ranks.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
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
        let page = std::fs::read_to_string(crate::held::docs("reference/command-line.md")).unwrap();
        for command in super::Cli::command().get_subcommands() {
            let row = format!("| `trib {}", command.get_name());
            assert!(page.contains(&row), "docs/reference/command-line.md has no row that begins with {row}");
        }
    }
}
