//! The lists of a rank: its access cut by aggregator, and what goes through them.
//!
//! | module | holds |
//! |---|---|
//! | [`flatten`] | an access cut into a list for each aggregator |
//! | [`flow`] | the cursors of a (rank, aggregator) pair, on both sides |
//! | [`zero_copy`] | messages that lie in the caller's memory |

pub(in crate::engine) mod flatten;
pub(in crate::engine) mod flow;
pub(in crate::engine) mod zero_copy;
