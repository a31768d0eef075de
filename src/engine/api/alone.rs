//! Handles failures of a rank that has no endpoint yet, by the hints of the environment.

use crate::error::Result;
use crate::fabric::mpi::{end_job, is_running};
use crate::hints::{Hints, OnFailure};

/// Returns the outcome of a rank that has no endpoint yet. Ends the job first if the outcome is an error, unless the
/// environment's hints say `trib_on_failure=return`. Without MPI no other rank waits, so nothing ends. Local.
///
/// # Errors
/// The error of the outcome.
pub fn alone<T>(outcome: Result<T>) -> Result<T> {
    if let Err(error) = &outcome
        && is_running()
        && Hints::from_env().is_ok_and(|hints| hints.on_failure == OnFailure::Abort)
    {
        end_job(error);
    }
    outcome
}
