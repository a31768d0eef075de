//! The error that all ranks return if a first agreement fails: the error of a rank, or ranks that are in different
//! calls.

use std::path::Path;

use crate::calls::CallGroups;
use crate::collectives::{broadcast, broadcast_error, gather};
use crate::engine::facts::calls::{CallFault, CallKind};
use crate::error::{Error, Result};
use crate::fabric::Endpoint;
use crate::wire;

/// Returns the error that all ranks report after a failed first agreement. `own` is this rank's error; this rank is in
/// `call` (kind, name) on the file at `path`. Collective: one broadcast, and a gather if ranks are in different calls.
///
/// # Errors
/// Errors of the message transport.
pub async fn agreed_error(
    endpoint: &mut Endpoint,
    fault: CallFault,
    own: Option<Error>,
    (call, path): ((CallKind, &str), &Path),
) -> Result<Error> {
    match fault {
        CallFault::OfRank(rank) => broadcast_error(endpoint, rank, own.as_ref()).await,
        CallFault::Mixed(_) => calls_differ(endpoint, (call.0 as u8, call.1), path).await,
    }
}

/// Returns the error for ranks that are in different calls on the file at `path`; this rank is in `call` (kind, name).
/// Collective: a gather of the names on rank 0, and a broadcast.
///
/// # Errors
/// Errors of the message transport.
pub async fn calls_differ(endpoint: &mut Endpoint, (kind, name): (u8, &str), path: &Path) -> Result<Error> {
    let all = gather(endpoint, 0, &[&[kind], name.as_bytes()].concat()).await?;
    let texts: Vec<_> = all.iter().filter_map(|one| one.split_first()).collect();
    let calls = texts.into_iter().map(|(&kind, name)| (kind, str::from_utf8(name).unwrap_or("another call")));
    let groups = broadcast(endpoint, 0, &wire::to_bytes(&CallGroups::from_calls(calls))).await?;
    let damaged = || Error::Internal { rank: 0, what: "the calls of the ranks are damaged".to_string() };
    let calls = wire::from_bytes(&groups).ok_or_else(damaged)?;
    Ok(Error::CallsDiffer { calls, path: path.display().to_string() })
}
