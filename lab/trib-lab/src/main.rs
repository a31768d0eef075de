//! `trib-lab`: the command line of the laboratory, for people who develop the model, reproduce papers or measure the
//! project.

mod advise;
mod algorithms;
mod cli;
mod compare;
mod document;
mod explain;
mod figures;
#[cfg(test)]
#[path = "../../../trib/src/generated.rs"]
mod generated;
mod guidelines;
mod hosts;
mod hsumma;
mod import;
mod kernels;
mod lists;
mod machines;
mod map;
mod patterns;
mod picture;
mod reproduce;
mod scale;
mod sim;
mod tune;

use cli::sim::BenchCommand;
use cli::tune::TuneCommand;
use cli::{Cli, Command};

fn main() -> std::process::ExitCode {
    let command = trib::cli::parse::<Cli>("trib-lab", |command| command).command;
    trib::run("trib-lab", || match command {
        Command::Advise(options) => advise::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Tune(TuneCommand::Machine(options)) => tune::machine(&options),
        Command::Tune(TuneCommand::Kernels(options)) => kernels::run(&options),
        Command::Patterns(options) => patterns::run(&options),
        Command::Picture(options) => picture::run(&options),
        Command::Lists(options) => lists::run(&options),
        Command::Map(options) => map::run(&options),
        Command::Import(options) => import::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Hosts(options) => hosts::run(&options),
        Command::Algorithms(options) => algorithms::run(&options),
        Command::Hsumma(options) => hsumma::run(&options),
        Command::Scale(options) => scale::run(&options),
        Command::Sim(command) => sim::run(&command),
        Command::Bench(BenchCommand::Sim(options)) => sim::bench::run(&options),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Figures(options) => figures::run(&options.from, options.output.as_deref()),
        Command::Guidelines(options) => guidelines::run(&options),
    })
}
