//! The options of `trib-lab` and their help texts.

pub mod algorithms;
pub mod guidelines;
pub mod hsumma;
pub mod kernels;
pub mod reproduce;
pub mod sim;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use algorithms::AlgorithmsOptions;
use guidelines::GuidelinesOptions;
use hsumma::HsummaOptions;
use kernels::TuneCommand;
use reproduce::ReproduceOptions;
use sim::{BenchCommand, SimCommand};

/// The laboratory of Tributary: simulate machines that are not here, reproduce papers, draw and count algorithms.
#[derive(Parser)]
#[command(version, max_term_width = 110, arg_required_else_help = true, after_help = EXAMPLES)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Print help
    // As in `trib`: one page per command.
    #[arg(short, long, action = ArgAction::HelpShort, global = true)]
    help: Option<bool>,
    /// The command.
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
    /// Compare the choice of `auto` with every kernel.
    #[command(subcommand)]
    Tune(TuneCommand),
    /// Multiply matrices by SUMMA and by hierarchical SUMMA, and show the cost of the broadcasts.
    Hsumma(HsummaOptions),
    /// Simulate exchanges on other machines.
    #[command(subcommand)]
    Sim(SimCommand),
    /// Measure parts of Tributary on this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Check the claims of five papers by measurement or simulation.
    Reproduce(ReproduceOptions),
    /// Draw the main paper's figures 4 and 5 from rows that the job scripts of benchmarks/batch wrote on a cluster;
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
