//! The contributions of the ranks of a collective call, and the decisions that follow from them.
//!
//! | module | holds |
//! |---|---|
//! | [`facts`] | a rank's arguments, errors and access statistics; the facts of all ranks merged, and the result |
//! | [`calls`] | the collective call that each rank is in |
//! | [`ranges`], [`footprint`] | the ranges of the file that ranks access: of each rank, and of each host |
//! | [`inline`] | small data that ranks bring with their facts |
//! | [`first`] | the agreement when a call begins: one rank chooses the path of the bytes |
//! | [`last`] | the agreement when it ends: errors, counts and times |
//!
//! This file makes the error that all ranks return if a first agreement fails: the error of a rank, or that ranks are in
//! different calls.

pub(in crate::engine) mod calls;
pub(in crate::engine) mod facts;
pub(in crate::engine) mod first;
pub(in crate::engine) mod footprint;
mod inline;
pub mod internals;
pub(in crate::engine) mod last;
pub(in crate::engine) mod ranges;

use std::path::Path;

use tributary_base::wire;

use crate::access::Extents;
use crate::calls::CallGroups;
use crate::collectives::{allgather, broadcast, broadcast_error, gather};
use crate::engine::agree::calls::{CallFault, CallKind};
use crate::engine::agree::ranges::RankRanges;
use crate::error::{Error, Result};
use crate::fabric::Endpoint;

/// Returns true if the file ranges of no two ranks overlap. Collective: an allgather of 16 bytes a rank, for calls of
/// large requests only.
///
/// # Errors
/// Errors of the message transport.
pub async fn truly_disjoint(endpoint: &mut Endpoint, file: &Extents) -> Result<bool> {
    let (start, end) = file.span().unwrap_or_default();
    let all = allgather(endpoint, &wire::to_bytes(&(start, end))).await?;
    let ranges = all.chunks_exact(16).filter_map(wire::from_bytes::<(u64, u64)>);
    Ok(RankRanges::from_ranges(ranges.filter(|(start, end)| start < end)).are_disjoint() == Some(true))
}

/// Maximum number of errors of other calls that the error of a close lists.
const MOST_LISTED: usize = 8;

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
    let damaged = || Error::internal(0, "the calls of the ranks are damaged");
    let calls = wire::from_bytes(&groups).ok_or_else(damaged)?;
    Ok(Error::CallsDiffer { calls, path: path.display().to_string() })
}

/// Returns `error`, on which all ranks have agreed at the close of a file, together with the other errors of all ranks, which
/// no later call returns; `left` holds this rank's. Collective: a gather and a broadcast.
///
/// # Errors
/// Errors of the message transport; this rank then prints `error` and its own errors.
pub async fn with_others(endpoint: &mut Endpoint, error: Error, left: Vec<Error>) -> Result<Error> {
    let own: Vec<String> = left.iter().map(Error::to_string).collect();
    match (listed(endpoint, &own).await, error) {
        (Ok(others), Error::Io { rank, operation, path, offset, class, cause }) => {
            Ok(Error::Io { rank, operation, path, offset, class, cause: cause.with_more(&others) })
        }
        (Err(failed), error) => {
            [error.to_string()]
                .iter()
                .chain(&own)
                .for_each(|own| crate::say(format_args!("{own}; no call has returned this error")));
            Err(failed)
        }
        (Ok(_), error) => Ok(error),
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
