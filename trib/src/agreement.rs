//! Errors that ranks agree on.

use std::pin::pin;

use tributary::collectives::agree;
use tributary::{Endpoint, Error};

use crate::Failure;

/// Shares a failure among ranks. Returns this rank's result; if a rank failed, the failure of the lowest failed rank on
/// every rank, and rank 0 prints it. Collective.
///
/// # Errors
/// The failure, or errors of the fabric.
pub fn agreed<T>(endpoint: &mut Endpoint, own: Result<T, Failure>) -> Result<T, Failure> {
    let (waiting, prints) = (endpoint.waiting().clone(), endpoint.rank() == 0);
    let own = own.map_err(|failure| Error::argument("failure", failure, ""));
    waiting.wait(pin!(agree(endpoint, own))).map_err(|error| match error {
        Error::Argument { value, .. } => Failure::new(value).said_by(prints),
        other => Failure::new(other).said_by(prints),
    })
}
