//! What the crates of Tributary share: ranks and nodes, extents of a file, errors.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | [`Error`]: by cause, the same on every rank |
//! | [`topology`] | [`Topology`]: which rank is on which node |
//! | [`extent`] | [`Extent`]: so many bytes at an offset |

pub mod error;
pub mod extent;
mod rank;
pub mod topology;

pub use error::{Error, Result};
pub use extent::Extent;
pub use topology::{Node, Rank, Topology};
