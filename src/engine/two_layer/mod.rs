//! The layer inside a node, between local aggregators and their members.
//!
//! | module | holds |
//! |---|---|
//! | [`overlaps`], [`merge`], [`local_aggregation`] | how a local aggregator merges its members' extents and bytes |
//! | [`node`] | the same layer in shared memory |

pub(in crate::engine) mod local_aggregation;
pub(in crate::engine) mod merge;
pub(in crate::engine) mod node;
pub(in crate::engine) mod overlaps;
