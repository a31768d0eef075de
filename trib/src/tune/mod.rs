//! `trib tune`: what is fastest, measured here or simulated.

mod collectives;
mod kernels;

use crate::Failure;
use crate::cli::tune::{TuneOptions, What};

/// Runs the command.
pub fn run(options: &TuneOptions) -> Result<(), Failure> {
    match &options.what {
        What::Collectives(options) => collectives::run(options),
        What::Kernels(options) => kernels::run(options),
    }
}
