//! `trib-lab sim`: commands of the simulator.

mod all_to_many;
pub mod bench;
mod descent;
mod fit;
mod machines;
mod measurements;
mod throttles;
mod validate;
mod write;

use trib::Failure;

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
