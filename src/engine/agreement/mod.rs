//! What ranks agree on in a call: at its beginning on their facts, at its end on its outcome.
//!
//! | module | holds |
//! |---|---|
//! | [`meeting`] | the first agreement of ranks that share memory; [`slots`]: small data in their slots |
//! | [`sweep`] | that of ranks that exchange messages: [`contribution`], with [`small`] data |
//! | [`without_data`] | that of calls without data: sync, close and the like; what a failed one returns |
//! | [`cover`], [`held`] | what a rank, and what a host holds of the file, if hosts may be apart |
//! | [`foreseen`] | what ranks of a write that is not made would agree on |
//! | [`finish`] | the last agreement: errors, counts and times |

mod contribution;
pub(in crate::engine) mod cover;
pub(in crate::engine) mod finish;
pub mod foreseen;
pub(in crate::engine) mod held;
#[cfg(feature = "internals")]
pub mod internals;
pub(in crate::engine) mod meeting;
mod slots;
mod small;
mod sweep;
pub mod without_data;

use crate::access::{BufferLayout, Extents, Source};
use crate::collectives::allgather;
use crate::engine::facts::lanes::{get, message};
use crate::engine::facts::ranges::RankRanges;
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
