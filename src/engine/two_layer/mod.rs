//! The layer inside a node, between local aggregators and their members, in memory that they share.
//!
//! | module | holds |
//! |---|---|
//! | [`overlaps`], [`merge`] | how a local aggregator merges its members' extents |
//! | [`node`] | how members pass their bytes to their local aggregator, and get them from it |

pub(in crate::engine) mod merge;
pub(in crate::engine) mod node;
pub(in crate::engine) mod overlaps;

use crate::access::Packed;
use crate::engine::two_layer::merge::Merged;
use crate::topology::Rank;

/// Lists by aggregator, ascending.
pub type ListsByAggregator = Vec<(usize, Packed)>;

/// The lists that a local aggregator has merged.
#[derive(Debug, Clone, Default)]
pub struct LocalPlan {
    /// The local aggregator's members with data, ascending, and the lists of each.
    pub members: Vec<(Rank, ListsByAggregator)>,
    /// The merged list for each aggregator, ascending by aggregator. Members are indices into `members`.
    pub merged: Vec<Merged>,
}
