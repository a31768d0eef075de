//! What the crates of Tributary share: ranks and nodes, extents of a file, errors.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | [`Error`]: by cause, the same on every rank |
//! | [`topology`] | [`Topology`]: which rank is on which node |
//! | [`extent`] | [`Extent`]: so many bytes at an offset |
//! | [`fingerprint()`] | a number that stands for bytes, the same in every build |
//! | [`say`] | a line on standard error |
//! | [`wire`] | values as bytes, between ranks |
//! | [`variable`] | a variable of the environment, unless the program has more rights than its user |

pub mod error;
pub mod extent;
mod fingerprint;
mod rank;
mod say;
pub mod topology;
mod variables;
pub mod wire;

pub use error::{Error, Result};
pub use extent::Extent;
pub use fingerprint::{fingerprint, mixed};
pub use say::say;
pub use topology::{Node, Rank, Topology};
pub use variables::{has_more_rights, variable, variables};
