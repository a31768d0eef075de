//! `trib-lab`: the command line of the laboratory, for those who develop the model or reproduce papers.

mod algorithms;
mod cli;
mod figures;
#[cfg(test)]
#[path = "../../trib/src/generated.rs"]
mod generated;
mod guidelines;
mod hsumma;
mod kernels;
mod reproduce;
mod sim;

use cli::kernels::TuneCommand;
use cli::sim::BenchCommand;
use cli::{Cli, Command};

fn main() -> std::process::ExitCode {
    let command = trib::cli::parse::<Cli>("trib-lab", |command| command).command;
    trib::run("trib-lab", || match command {
        Command::Algorithms(options) => algorithms::run(&options),
        Command::Tune(TuneCommand::Kernels(options)) => kernels::run(&options),
        Command::Hsumma(options) => hsumma::run(&options),
        Command::Sim(command) => sim::run(&command),
        Command::Bench(BenchCommand::Sim(options)) => sim::bench::run(&options),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Figures(options) => figures::run(&options.from, options.output.as_deref()),
        Command::Guidelines(options) => guidelines::run(&options),
    })
}
