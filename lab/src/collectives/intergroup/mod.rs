//! Allgather between two groups: every rank gets the blocks of all ranks of the *other* group and none of its own.
//!
//! Ranks that compute and ranks that do I/O are such groups, and so are the two sides of an MPI inter-communicator.
//! Kang et al., Scalable Algorithms for MPI Intergroup Allgather and Allgatherv (2019).
//!
//! | file | holds |
//! |---|---|
//! | [`mod@allgather`] | Algorithm 1: for equal blocks |
//! | [`allgatherv`] | Algorithm 2: for any blocks |
//! | [`two_step`] | the larger group's allgather inside and across subgroups (EuroMPI 2018) |
//! | [`mod@root_gathering`] | the baseline: what MPI libraries do |
//! | `exchange` | the first step of all but the baseline: parts of the full message, and the order of sends |
//! | `groups` | [`TwoGroups`] |

pub mod allgather;
pub mod allgatherv;
mod exchange;
mod groups;
pub mod root_gathering;
pub mod two_step;

pub use groups::TwoGroups;

use super::INTERGROUP;
use super::algorithm::Problem;
use crate::collectives::Rates;
use tributary::error::Result;
use tributary::fabric::{Buffers, Endpoint};
use tributary::schedule::{Buffer, ReduceOp};
use tributary::topology::Topology;

/// Sizes of two groups in the cost formulas: p ranks with blocks of k_A bytes (mean), and q ranks with blocks of k_B
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Number of ranks of group A.
    pub p: f64,
    /// Number of ranks of group B.
    pub q: f64,
    /// Mean number of bytes of a block of A.
    pub k_a: f64,
    /// Mean number of bytes of a block of B.
    pub k_b: f64,
}

impl Pair {
    /// Returns M, the minimum of the transfer time in seconds: the time of the group whose blocks have more bytes
    /// (section 2.2).
    pub fn least(&self, rates: &Rates) -> f64 {
        (self.p * self.k_a).max(self.q * self.k_b) * rates.byte
    }

    /// Returns the same sizes with the larger group as A.
    pub fn larger_first(self) -> Self {
        if self.p < self.q { Self { p: self.q, q: self.p, k_a: self.k_b, k_b: self.k_a } } else { self }
    }
}

/// Gives every rank the bytes of all ranks of the other group, one after the other in that group's order. A rank in
/// neither group contributes and gets nothing. A rank need not know another rank's size: an allgather of all sizes
/// comes first, then [`allgatherv`]. Collective over all ranks of the endpoint. O(log(p + q)) and at most p + q message
/// rounds; transfer time as [`allgatherv::bound`] and 8 (p + q) bytes more.
///
/// # Errors
/// A group member that is not a rank: the same on all ranks, before anything is sent. Errors of the fabric.
pub async fn intergroup_allgatherv(endpoint: &mut Endpoint, groups: &TwoGroups, bytes: Vec<u8>) -> Result<Vec<u8>> {
    let ranks = endpoint.ranks();
    groups.check(ranks)?;
    let lengths = tributary::collectives::allgather(endpoint, &(bytes.len() as u64).to_le_bytes()).await?;
    let length = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let sizes: Vec<u64> = lengths.chunks_exact(8).map(length).collect();
    let (sizes, groups) = (&sizes[..], Some(groups));
    let (rank, topology) = (endpoint.rank(), Topology::blocks(endpoint.ranks(), 1)?);
    let problem = Problem { rank, topology: &topology, root: 0, sizes, with: ReduceOp::Max, segment: 8, groups };
    let mut buffers = Buffers::default();
    buffers.set(Buffer::Send, bytes);
    endpoint.run((allgatherv::ALLGATHERV.schedule)(&problem), &mut buffers, INTERGROUP).await?;
    Ok(buffers.take(Buffer::Receive))
}
