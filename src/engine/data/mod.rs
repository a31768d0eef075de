//! The data phase: rounds, in each of which an aggregator fills or empties one window.
//!
//! | module | holds |
//! |---|---|
//! | [`flow`] | the cursors of a (rank, aggregator) pair, on both sides |
//! | [`windows`], [`coverage`], [`buffer`] | the windows of an aggregator; which of their bytes have data; their memory |
//! | [`rounds`] | the state of a rank over all rounds |
//! | [`writing`], [`placing`] | the rounds of a write, and the memory of one round |
//! | [`lending`] | messages that lie in the caller's memory |
//! | [`reading`], [`delivering`] | the rounds of a read, and the memory of one round |

pub(in crate::engine) mod buffer;
pub(in crate::engine) mod coverage;
pub(in crate::engine) mod delivering;
pub(in crate::engine) mod flow;
pub(in crate::engine) mod lending;
pub(in crate::engine) mod placing;
pub(in crate::engine) mod reading;
pub(in crate::engine) mod rounds;
pub(in crate::engine) mod windows;
pub(in crate::engine) mod writing;
