//! The layer inside a node: what local aggregators and their members hand each other.
//!
//! | module | holds |
//! |---|---|
//! | [`overlaps`], [`merge`], [`local_aggregation`] | what a local aggregator does with its members' extents and bytes |
//! | [`gather_tree`] | the ordered trees between a local aggregator and its members |
//! | [`node`] | what goes between them in memory that they share |

pub(in crate::engine) mod gather_tree;
pub(in crate::engine) mod local_aggregation;
pub(in crate::engine) mod merge;
pub(in crate::engine) mod node;
pub(in crate::engine) mod overlaps;
