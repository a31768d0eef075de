//! `trib tune`: what is fastest, measured here or simulated.

mod collectives;
mod kernels;
mod machine;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use tributary::{Error, Rank};

use crate::Failure;
use crate::cli::tune::{TuneOptions, What};

/// Runs the command.
pub fn run(options: &TuneOptions) -> Result<(), Failure> {
    match &options.what {
        What::Collectives(options) => collectives::run(options),
        What::Kernels(options) => kernels::run(options),
        What::Machine(options) => machine::run(options),
    }
}

/// On rank 0, a bar on a terminal; for [`advance`].
fn bar(rank: Rank) -> ProgressBar {
    let bar = if rank == 0 { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{msg:50} {wide_bar} {pos}/{len}, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn advance(bar: &ProgressBar, done: usize, of: usize, next: &str) {
    bar.set_length(of as u64);
    bar.set_position(done as u64);
    bar.set_message(next.to_string());
}

/// Checks, before anything is measured, that the table can be written.
fn writable(path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|cause| {
        Error::argument("output", format!("{}: {cause}", path.display()), "a file that can be written")
    })
}
