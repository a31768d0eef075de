//! The options of `trib-lab` and their help texts.

pub mod advise;
pub mod algorithms;
pub mod compare;
pub mod explain;
pub mod guidelines;
pub mod hosts;
pub mod hsumma;
pub mod import;
pub mod kernels;
pub mod map;
pub mod patterns;
pub mod reproduce;
pub mod scale;
pub mod sim;
pub mod tune;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use advise::AdviseOptions;
use algorithms::AlgorithmsOptions;
use compare::CompareOptions;
use explain::ExplainOptions;
use guidelines::GuidelinesOptions;
use hosts::HostsOptions;
use hsumma::HsummaOptions;
use import::ImportOptions;
use map::MapOptions;
use patterns::{ListsOptions, PatternsOptions, PictureOptions};
use reproduce::ReproduceOptions;
use scale::ScaleOptions;
use sim::{BenchCommand, SimCommand};
use tune::TuneCommand;

/// The laboratory of Tributary: simulate machines that are not here, reproduce papers, draw patterns and algorithms,
/// measure.
#[derive(Parser)]
#[command(version, max_term_width = 110, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print help
    // As in `trib`: one page per command.
    #[arg(short, long, action = ArgAction::HelpShort, global = true)]
    help: Option<bool>,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trib-lab sim all-to-many --machine cori-knl --ranks 2048 --receivers 32 --iterations 64
      simulates how long an exchange takes on Cori
  trib-lab reproduce --quick
      checks which of the papers' claims the simulator reproduces
  trib-lab algorithms show bruck --output bruck.svg
      draws the messages of an algorithm round by round";

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// List the collective algorithms and exchange kernels with their counts for any number of ranks, or draw one.
    Algorithms(AlgorithmsOptions),
    /// Find hints that speed up the write of a capture on a machine, by simulating candidates.
    Advise(AdviseOptions),
    /// Simulate the largest write of a capture on a machine: predicted against measured, and the hint that should help
    /// most.
    Explain(ExplainOptions),
    /// Measure what messages cost here, for a hint; or compare the choice of `auto` with every kernel.
    #[command(subcommand)]
    Tune(TuneCommand),
    /// List the patterns, or show one: its parameters, and its counts for any number of ranks.
    Patterns(PatternsOptions),
    /// Draw as SVG which rank owns which bytes of a pattern.
    Picture(PictureOptions),
    /// Write a pattern's extents to list files, so that other programs can write the same.
    Lists(ListsOptions),
    /// Write a generated decomposition map in the format of E3SM-IO.
    Map(MapOptions),
    /// Make a capture of a file that Darshan's extended tracing (DXT) recorded.
    Import(ImportOptions),
    /// Compare an MPI library's own I/O with the preload library, on patterns.
    Compare(Box<CompareOptions>),
    /// Run a command on emulated hosts of this machine, which every MPI launcher that it starts finds.
    Hosts(HostsOptions),
    /// Multiply matrices by SUMMA and by hierarchical SUMMA, and show the cost of the broadcasts.
    Hsumma(HsummaOptions),
    /// Run programs on the engine itself, in virtual time, on a simulated machine: up to 16,384 ranks on a laptop.
    Scale(ScaleOptions),
    /// Simulate exchanges on other machines.
    #[command(subcommand)]
    Sim(SimCommand),
    /// Measure parts of Tributary on this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Check the claims of five papers by measurement or simulation.
    Reproduce(ReproduceOptions),
    /// Draw the main paper's figures 4 and 5 from rows that the job scripts of lab/batch wrote on a cluster;
    /// `reproduce main --claim figure-5 --html FILE` simulates them
    Figures(FiguresOptions),
    /// Check MPI_Gatherv, MPI_Scatterv and our own against performance guidelines (under mpiexec).
    Guidelines(GuidelinesOptions),
}

/// Options of `trib-lab figures`.
#[derive(Args)]
pub struct FiguresOptions {
    /// The directory of the rows.
    #[arg(value_name = "DIR")]
    pub from: PathBuf,
    /// Directory for the figures and their page; by default that of the rows.
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
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
        crate::generated::assert_commands(&super::Cli::command(), "lab/docs/commands.md");
    }
}
