//! Errors that ranks agree on.

use std::pin::pin;

use tributary::collectives::agree;
use tributary::{Endpoint, Error};

use crate::Failure;

/// This rank's result; if one failed, the failure of the lowest such rank on every rank, which rank 0 prints. Collective.
///
/// # Errors
/// The failure, or those of the fabric.
pub fn agreed<T>(endpoint: &mut Endpoint, own: Result<T, Failure>) -> Result<T, Failure> {
    let (waiting, speaks) = (endpoint.waiting().clone(), endpoint.rank() == 0);
    let own = own.map_err(|failure| Error::argument("failure", failure, ""));
    waiting.wait(pin!(agree(endpoint, own))).map_err(|error| match error {
        Error::Argument { value, .. } => Failure::new(value).said_by(speaks),
        other => Failure::new(other).said_by(speaks),
    })
}
