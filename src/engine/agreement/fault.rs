//! The error that all ranks return if a first agreement fails: the error of a rank, or ranks that are in different
//! calls.

use std::path::Path;

use crate::collectives::{broadcast, broadcast_error, gather};
use crate::engine::facts::calls::{CallFault, CallsDiffer};
use crate::error::{About, Error, Result};
use crate::fabric::Endpoint;
use crate::topology::Rank;

/// Maximum number of errors of other calls that the error of a close lists.
const MOST_LISTED: usize = 8;

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

/// Returns `error`, which all ranks have agreed on at the end of a file, with all errors that ranks still have `left`: no later
/// call returns them. Collective: a gather and a broadcast.
///
/// # Errors
/// None: if the ranks cannot be told, this rank prints its errors.
pub async fn with_others(endpoint: &mut Endpoint, error: Error, left: Vec<Error>) -> Result<Error> {
    let own: Vec<String> = left.iter().map(Error::to_string).collect();
    match (listed(endpoint, &own).await, error) {
        (Ok(others), Error::Io { rank, operation, path, offset, class, cause }) => {
            Ok(Error::Io { rank, operation, path, offset, class, cause: cause + &others })
        }
        (_, error) => {
            own.iter().for_each(|own| crate::say(format_args!("{own}; no call has returned this error")));
            Ok(error)
        }
    }
}

/// Returns the errors of all ranks as the end of a line: a list of some of them, and the number of the rest.
async fn listed(endpoint: &mut Endpoint, own: &[String]) -> Result<String> {
    let gathered = gather(endpoint, 0, own.join("\n").as_bytes()).await?;
    let gathered: Vec<_> = gathered.iter().map(|of_rank| String::from_utf8_lossy(of_rank)).collect();
    let all: Vec<&str> = gathered.iter().flat_map(|of_rank| of_rank.lines()).collect();
    let mut line: String = all.iter().take(MOST_LISTED).map(|other| format!("; {other}")).collect();
    if all.len() > MOST_LISTED {
        line.push_str(&format!("; and {} more errors", all.len() - MOST_LISTED));
    }
    Ok(String::from_utf8_lossy(&broadcast(endpoint, 0, line.as_bytes()).await?).into_owned())
}
