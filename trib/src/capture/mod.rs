//! `trib capture`: describes, exports and merges captures.

mod export;
mod info;
mod merge;
pub mod scaled;

use crate::Failure;
use crate::cli::capture::CaptureCommand;

/// Runs a command of `trib capture`.
pub fn run(command: &CaptureCommand) -> Result<(), Failure> {
    match command {
        CaptureCommand::Info(options) => info::run(options),
        CaptureCommand::Export(options) => export::run(options),
        CaptureCommand::Merge(options) => merge::run(options),
    }
}
