//! The collective operations of the engine, as schedules. (Other algorithms, from papers, are in the crate `tributary-lab`.)
//!
//! An algorithm is a pure function that returns a schedule. The functions of this module run schedules on an endpoint. They are
//! collective: every rank of the endpoint calls them, in the same order.
//!
//! | module | holds |
//! |---|---|
//! | `agreement` | the engine's calls: allreduce, broadcast, gather, agreement on errors |
//! | [`mod@sweep`] | a reduction over hosts to rank 0 and a broadcast back: the agreement when a file is opened |
//! | `on_host` | the calls where all ranks share memory |
//! | `gather` | a linear gather of blocks whose length only the sender knows |
//! | [`mod@allgather`] | Bruck's allgather over any levels of locality |
//! | [`binomial`] | broadcast and reduction along a binomial tree |
//! | [`part`], `group` | a collective among the members of a group, as a step of a larger one |

mod agreement;
pub mod allgather;
pub mod binomial;
mod gather;
mod group;
mod on_host;
pub mod part;
pub mod sweep;

pub use agreement::{agree, allreduce, broadcast, broadcast_error, gather};
pub use group::Group;

use crate::error::Result;
use crate::fabric::{Buffers, Endpoint};
use crate::schedule::Buffer;
use crate::topology::Topology;

/// Tags of the collectives' messages; the engine's tags begin at [`FIRST_FREE_TAG`].
const REDUCE: u16 = 0;
const BROADCAST: u16 = 1;
const GATHER: u16 = 2;
const ALLGATHER: u16 = 3;
/// The sweep over hosts.
const SWEEP: u16 = 4;
/// The first tag that the collectives do not use.
pub const FIRST_FREE_TAG: u16 = 5;

/// Gives every rank the blocks of all ranks, in rank order. Few messages leave the nodes of the topologies in `levels`, the
/// coarsest first, which have as many ranks as the endpoint; without levels, all ranks are alike
/// ([`allgather::locality_bruck`]). Collective; all blocks must have the same length.
///
/// # Errors
/// Those of the fabric.
pub async fn allgather(endpoint: &mut Endpoint, levels: &[&Topology], own: &[u8]) -> Result<Vec<u8>> {
    if on_host::applies_to(endpoint) {
        return on_host::allgather(endpoint, own).await;
    }
    let sizes = vec![own.len() as u64; endpoint.ranks()];
    let schedule = allgather::locality_bruck::schedule(endpoint.rank(), &sizes, levels);
    let mut buffers = Buffers::exact();
    buffers.set(Buffer::Send, own.to_vec());
    endpoint.run(schedule, &mut buffers, ALLGATHER).await?;
    Ok(buffers.get(Buffer::Receive).to_vec())
}
