//! What ranks agree on in a call: at its beginning on their facts, at its end on its outcome.
//!
//! | module | holds |
//! |---|---|
//! | [`on_host`] | the first agreement of ranks that share memory; [`slots`]: small data in their slots |
//! | [`over_hosts`] | that of ranks that exchange messages: [`contribution`], with [`small`] data |
//! | [`without_data`] | that of calls without data: sync, close and the like; what a failed one returns |
//! | [`footprint`], [`held`] | what a rank, and what a host holds of the file, if hosts may be apart |
//! | [`predicted`] | what ranks of a write that is not made would agree on |
//! | [`finish`] | the last agreement: errors, counts and times |

mod contribution;
pub(in crate::engine) mod finish;
pub(in crate::engine) mod footprint;
pub(in crate::engine) mod held;
#[cfg(feature = "internals")]
pub mod internals;
pub(in crate::engine) mod on_host;
mod over_hosts;
pub mod predicted;
mod slots;
mod small;
pub mod without_data;

use crate::access::{BufferLayout, Extents, Source};
use crate::collectives::allgather;
use crate::engine::facts::ranges::RankRanges;
use crate::engine::facts::words::{get, message};
use crate::error::Result;
use crate::fabric::Endpoint;

/// An access to write: extents of the file, layout of the memory, the memory.
pub type Access<'a> = (&'a Extents, &'a BufferLayout, Source<'a>);

/// Whether no two ranks' ranges overlap. Collective: an allgather of 16 bytes a rank, for calls of large requests only.
///
/// # Errors
/// Those of the fabric.
pub async fn truly_disjoint(endpoint: &mut Endpoint, file: &Extents) -> Result<bool> {
    let (start, end) = file.span().unwrap_or_default();
    let all = allgather(endpoint, &message(&[start, end])).await?;
    let ranges = all.chunks_exact(16).map(get::<[u64; 2]>).map(|[start, end]| (start, end));
    Ok(RankRanges::of(ranges.filter(|(start, end)| start < end)).are_disjoint() == Some(true))
}
