//! A failure of one rank where there is no endpoint yet to fail by, as the environment's hints have it end.

use crate::error::Result;
use crate::fabric::mpi::{end_job, is_running};
use crate::hints::{Hints, OnFailure};

/// Passes on an outcome of one rank where there is no endpoint yet to fail by, and ends the job over an error, unless
/// the environment's hints say `trib_on_failure=return`. Outside of MPI no other rank waits.
///
/// # Errors
/// The outcome's.
pub fn alone<T>(outcome: Result<T>) -> Result<T> {
    if let Err(error) = &outcome
        && is_running()
        && Hints::from_env().is_ok_and(|hints| hints.on_failure == OnFailure::Abort)
    {
        end_job(error);
    }
    outcome
}
