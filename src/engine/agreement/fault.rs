//! The error that all ranks return if a first agreement fails: the error of a rank, or ranks that are in different
//! calls.

use std::path::Path;

use crate::collectives::{broadcast, broadcast_error};
use crate::engine::facts::calls::{CallFault, CallsDiffer};
use crate::error::{About, Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// Returns the error that all ranks report after a failed first agreement. `own` is this rank's error; this rank is in
/// the call `name` on the file at `path`. Collective: one broadcast, or two if ranks are in different calls.
///
/// # Errors
/// Errors of the message transport.
pub async fn agreed_error(
    endpoint: &mut Endpoint,
    fault: CallFault,
    own: Option<Error>,
    (name, path): (&str, &Path),
) -> Result<Error> {
    match fault {
        CallFault::OfRank(rank) => broadcast_error(endpoint, rank, own.as_ref()).await,
        CallFault::Mixed(calls) => {
            let damaged = || Error::Internal { rank: 0, what: "calls that differ are the same".to_string() };
            let CallsDiffer { one, other, .. } = calls.differ().ok_or_else(damaged)?;
            if one.max(other) >= endpoint.ranks() {
                return Err(Error::Internal {
                    rank: 0,
                    what: "a rank that is not there is in another call".to_string(),
                });
            }
            calls_differ(endpoint, [one, other], name, path).await
        }
    }
}

/// Returns the error for ranks that are in different calls on the file at `path`. `one` and `other` are two such ranks;
/// this rank is in the call `name`. Collective: two broadcasts.
///
/// # Errors
/// Errors of the message transport.
pub async fn calls_differ(endpoint: &mut Endpoint, [one, other]: [Rank; 2], name: &str, path: &Path) -> Result<Error> {
    let mut calls = [(one.max(other), String::new()), (one.min(other), String::new())];
    for (rank, call) in &mut calls {
        let told = broadcast(endpoint, *rank, name.as_bytes()).await?;
        *call = String::from_utf8_lossy(&told).into_owned();
    }
    let [(higher, its), (lower, other)] = calls;
    let path = path.display();
    let what = format!(
        "rank {higher} is in {its}, rank {lower} in {other} of {path}; all ranks must make the same collective call"
    );
    Ok(Error::state(what).about(About::Call))
}
