//! The data phase of an exchange. It runs in rounds: in each round, an aggregator fills or empties one window (a piece
//! of the file).
//!
//! | module | holds |
//! |---|---|
//! | [`rounds`] | the state of a rank over all rounds, and the windows of an aggregator |
//! | [`writing`], [`placing`] | the rounds of a write, and the memory of one round |
//! | [`reading`], [`delivering`] | the rounds of a read, and the memory of one round |

pub(in crate::engine) mod delivering;
pub(in crate::engine) mod placing;
pub(in crate::engine) mod reading;
pub(in crate::engine) mod rounds;
pub(in crate::engine) mod writing;

#[cfg(test)]
mod missing;
