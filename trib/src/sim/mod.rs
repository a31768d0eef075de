//! `trib sim`: the simulator.

mod all_to_many;
pub mod bench;
mod descent;
mod fit;
pub mod machines;
mod measurements;
pub mod memory;
mod throttles;
mod validate;
mod write;

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use crate::Failure;
use crate::cli::sim::SimCommand;

/// Runs one of the commands.
pub fn run(command: &SimCommand) -> Result<(), Failure> {
    match command {
        SimCommand::AllToMany(options) => all_to_many::run(options),
        SimCommand::Write(options) => write::run(options),
        SimCommand::Machines(options) => machines::run(options),
        SimCommand::Fit(options) => fit::run(options),
        SimCommand::Throttles(options) => throttles::run(options),
        SimCommand::Validate(options) => validate::run(options),
    }
}

/// A bar of so many steps, where somebody sees it.
pub fn progress(length: u64, what: &'static str) -> ProgressBar {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(length) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{msg:10} {wide_bar} {pos}/{len}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what);
    bar
}
