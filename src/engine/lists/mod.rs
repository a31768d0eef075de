//! The lists of extents that a rank has for each aggregator, and the cursors over them.
//!
//! | module | holds |
//! |---|---|
//! | [`flatten`] | an access cut into a list for each aggregator; what a rank reads only once for several places |
//! | [`flow`] | cursors over the list of a rank for an aggregator, on both of them; messages that lie in the caller's memory |

pub(in crate::engine) mod flatten;
pub(in crate::engine) mod flow;
