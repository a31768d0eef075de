//! The layer of messages inside a node, between local aggregators and their members.
//!
//! | module | holds |
//! |---|---|
//! | [`overlaps`], [`merge`], [`local_aggregation`] | how a local aggregator merges its members' extents and bytes |
//! | [`node`] | the same layer in memory that the members share |

pub(in crate::engine) mod local_aggregation;
pub(in crate::engine) mod merge;
pub(in crate::engine) mod node;
pub(in crate::engine) mod overlaps;

use crate::access::Packed;
use crate::engine::two_layer::merge::Merged;
use crate::topology::Rank;

/// Lists of extents as (index of the aggregator, list), ascending by aggregator.
pub type ListsByAggregator = Vec<(usize, Packed)>;

/// The plan of a local aggregator for the data phase.
#[derive(Debug, Clone)]
pub struct LocalPlan {
    /// The local aggregator's members with data, ascending, and the lists of each.
    pub members: Vec<(Rank, ListsByAggregator)>,
    /// The merged list for each aggregator, ascending by aggregator. Members are indices into `members`.
    pub merged: Vec<Merged>,
}
