//! Gather and scatter of blocks that may differ in size: the root receives, or sends, the block of every rank.
//!
//! | file | holds |
//! |---|---|
//! | `linear`, `linear_synchronized`, `binomial`, `minimum_spanning_tree`, `ordered` | the algorithms of the registry; all ranks know all sizes |
//! | [`gathering`] | a gather among any ranks, from which hierarchies are built |
//! | `levels` | hierarchies of gathers |
//! | [`tree`] | ordered hypercubes, and how two of them join |
//! | [`part`] | one rank's part of a tree, and its schedule |
//! | [`construct`] | the ordered tree from sizes that only their owners know |

mod binomial;
pub mod construct;
pub mod gathering;
mod levels;
mod linear;
mod linear_synchronized;
mod minimum_spanning_tree;
mod ordered;
pub mod part;
pub mod tree;

pub use binomial::BINOMIAL;
pub use gathering::{Gather, Gathering};
pub use levels::{GATHER as HIERARCHICAL_GATHER, SCATTER as HIERARCHICAL_SCATTER};
pub use linear::LINEAR;
pub use linear_synchronized::LINEAR_SYNCHRONIZED;
pub use minimum_spanning_tree::MINIMUM_SPANNING_TREE;
pub use ordered::{
    GATHER_THRESHOLD as ORDERED_GATHER_THRESHOLD, ORDERED, SCATTER_THRESHOLD as ORDERED_SCATTER_THRESHOLD,
};

use super::IRREGULAR;
use tributary::collectives::agree;
use tributary::error::{Error, Result};
use tributary::fabric::{Buffers, Endpoint};
use tributary::schedule::Buffer;
use tributary::topology::Rank;

/// Gathers the bytes of every rank on `root`, one after the other in rank order; the other ranks get nothing. A rank
/// need not know another rank's number of bytes: the ordered tree is constructed first. A subtree of more than
/// `threshold` bytes goes to the root directly. Collective. At most 3 ceil(log2 p) t_s + (sum + largest subtree) t_w
/// without a threshold.
///
/// To gather the same sizes again without the construction, keep the [`part::GatherPart`] of [`construct::build`] and
/// run its schedule.
///
/// # Errors
/// A root that is not a rank: the same on all ranks, before anything is sent. Errors of the fabric.
pub async fn gatherv(endpoint: &mut Endpoint, root: Rank, bytes: Vec<u8>, threshold: Option<u64>) -> Result<Vec<u8>> {
    let part = construct::build(endpoint, root, bytes.len() as u64, threshold).await?;
    let mut buffers = Buffers::default();
    if endpoint.rank() == root {
        buffers.set(Buffer::Receive, vec![0; part.bytes() as usize]);
    }
    buffers.set(Buffer::Send, bytes);
    endpoint.run(part.gather(), &mut buffers, IRREGULAR).await?;
    Ok(buffers.take(Buffer::Receive))
}

/// Scatters blocks of `all`: every rank gets its block of `len` bytes. `root` has `all`, the blocks one after the other
/// in rank order; the argument is ignored on the other ranks. Not even the root need know another rank's `len`.
/// Collective. Costs what
/// [`gatherv`] does, and 2 ceil(log2 p) t_s for an agreement that the blocks add up to `all`.
///
/// # Errors
/// A root that is not a rank; blocks that do not add up to `all`: the same on all ranks, before any data is
/// sent. Errors of the fabric.
pub async fn scatterv(
    endpoint: &mut Endpoint,
    root: Rank,
    all: Vec<u8>,
    len: u64,
    threshold: Option<u64>,
) -> Result<Vec<u8>> {
    let part = construct::build(endpoint, root, len, threshold).await?;
    let wrong = endpoint.rank() == root && part.bytes() != all.len() as u64;
    let fit = || Error::argument("bytes to scatter", all.len(), format!("{}, the sum of all blocks", part.bytes()));
    agree(endpoint, if wrong { Err(fit()) } else { Ok(()) }).await?;
    let mut buffers = Buffers::default();
    buffers.set(Buffer::Send, all);
    endpoint.run(part.scatter(), &mut buffers, IRREGULAR).await?;
    Ok(buffers.take(Buffer::Receive))
}
