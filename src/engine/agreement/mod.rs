//! Agreements of a collective call: the ranks agree on their facts when the call begins, and on the outcome when it
//! ends.
//!
//! | module | holds |
//! |---|---|
//! | [`first`] | the first agreement: what ranks bring ([`contribution`], with [`small`] data), and what one of them decides |
//! | [`fault`] | the error of a failed agreement |
//! | [`footprint`] | the ranges of the file that a rank, or a host, accesses |
//! | [`predicted`] | the path that a planned write would take |
//! | [`finish`] | the last agreement: errors, counts and times |

pub(in crate::engine) mod contribution;
pub mod fault;
pub(in crate::engine) mod finish;
pub(in crate::engine) mod first;
pub(in crate::engine) mod footprint;
pub mod internals;
pub mod predicted;
mod small;

use tributary_base::wire;

use crate::access::Extents;
use crate::collectives::allgather;
use crate::engine::facts::overlap::RankRanges;
use crate::error::Result;
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
