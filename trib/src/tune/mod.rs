//! `trib tune`: what is fastest, measured here or simulated.

mod kernels;
mod machine;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use tributary::fabric::mpi::{self, World};
use tributary::{Endpoint, Error, Rank};

use crate::Failure;
use crate::cli::tune::{TuneOptions, What};

/// Runs the command.
pub fn run(options: &TuneOptions) -> Result<(), Failure> {
    match &options.what {
        What::Kernels(options) => kernels::run(options),
        What::Machine(options) => machine::run(options),
    }
}

/// This process of an MPI job, its endpoint, and whether it speaks: rank 0. `wanted` is the number of ranks, if one was given.
fn under_mpi(wanted: Option<u64>) -> Result<(World, Endpoint, bool), Failure> {
    let world = mpi::initialise()?;
    let endpoint = Endpoint::new(Box::new(world.endpoint()?));
    let (ranks, speaks) = (endpoint.ranks() as u64, endpoint.rank() == 0);
    if wanted.is_some_and(|wanted| wanted != ranks) {
        let failure = Failure::new(format!("ranks: mpiexec started {ranks}, but --ranks is another number"));
        return Err(failure.said_by(speaks));
    }
    Ok((world, endpoint, speaks))
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
