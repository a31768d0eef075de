//! `trib-lab tune machine`, and functions for all commands that measure on MPI.

mod machine;

pub use machine::run as machine;

use std::path::Path;

use tributary::Error;

use trib::Failure;

/// Connects to the MPI job. Returns this process of the job, its endpoint, and true on rank 0, which prints. `wanted`
/// is the number of ranks, if one was given.
///
/// # Errors
/// Errors of MPI; another number of ranks.
pub fn under_mpi(wanted: Option<u64>) -> Result<(tributary::fabric::mpi::World, tributary::Endpoint, bool), Failure> {
    let world = tributary::fabric::mpi::initialise()?;
    let endpoint = tributary::Endpoint::new(Box::new(world.endpoint()?));
    let (ranks, prints) = (endpoint.ranks() as u64, endpoint.rank() == 0);
    if wanted.is_some_and(|wanted| wanted != ranks) {
        let failure = Failure::new(format!("ranks: mpiexec started {ranks}, but --ranks is another number"));
        return Err(failure.said_by(prints));
    }
    Ok((world, endpoint, prints))
}

/// Checks, before anything is measured, that a file can be written.
///
/// # Errors
/// The file cannot be written.
pub fn writable(path: Option<&Path>) -> Result<(), Error> {
    let Some(path) = path else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).map_err(|cause| {
        Error::argument("output", format!("{}: {cause}", path.display()), "a file that can be written")
    })
}
