//! Gather and scatter of blocks that may differ in size: the root gets, or gives, the block of every rank.
//!
//! | file | holds |
//! |---|---|
//! | `linear`, `linear_synchronized`, `binomial`, `minimum_spanning_tree`, `ordered` | the algorithms of the registry, where all ranks know all sizes |
//! | [`gathering`] | a gather among any ranks: what hierarchies are made of |
//! | `levels` | hierarchies of gathers |
//! | [`tree`] | ordered hypercubes and how they join: what trees are made of |
//! | [`part`] | one rank's part of a tree, and its schedule |
//! | [`construct`] | the same tree from sizes that only their owners know, by exchanges between fixed roots |

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

use super::{IRREGULAR, agree};
use crate::error::{Error, Result};
use crate::fabric::{Buffers, Endpoint};
use crate::schedule::Buffer;
use crate::topology::Rank;

/// Brings the bytes of every rank to `root`, one after the other in rank order; the others get nothing. No rank knows how
/// many another has: the ordered tree is constructed first. A subtree of more than `threshold` bytes is not passed on, but
/// goes to the root directly. Collective. At most 3 ceil(log2 p) t_s + (sum + largest subtree) t_w, if without a threshold.
///
/// To gather the same sizes again without the construction, keep the [`part::Part`] of [`construct::build`] and run its
/// schedule.
///
/// # Errors
/// A root that is no rank, alike on all ranks and before anything is sent; the fabric's.
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

/// Gives every rank its `len` bytes of `all`, which `root` has, one block after the other in rank order; the others'
/// argument is ignored. Not even the root needs to know another's `len`. Collective. As [`gatherv`], and an agreement
/// that the blocks are as long as `all`: 2 ceil(log2 p) t_s more.
///
/// # Errors
/// A root that is no rank, blocks that are together shorter or longer than `all`: alike on all ranks and before any of it
/// is sent. The fabric's.
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
