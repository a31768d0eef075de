//! The data phase: rounds of windows, and the bytes that go into them or out of them.
//!
//! | module | holds |
//! |---|---|
//! | [`flow`] | the cursors of one rank and aggregator, on both sides |
//! | [`windows`], [`coverage`], [`buffer`] | what an aggregator holds in a round; which bytes of it are there; its memory |
//! | [`rounds`] | where a rank stands |
//! | [`writing`], [`placing`] | the rounds of a write, and one of them in memory |
//! | [`reading`], [`delivering`] | the rounds of a read, and one of them in memory |

pub(in crate::engine) mod buffer;
pub(in crate::engine) mod coverage;
pub(in crate::engine) mod delivering;
pub(in crate::engine) mod flow;
pub(in crate::engine) mod placing;
pub(in crate::engine) mod reading;
pub(in crate::engine) mod rounds;
pub(in crate::engine) mod windows;
pub(in crate::engine) mod writing;
