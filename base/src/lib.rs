//! Types that all crates of Tributary use: ranks and nodes, extents of a file, errors.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | [`Error`]: the causes of errors, the same on every rank |
//! | [`topology`] | [`Topology`]: the node of each rank |
//! | [`calls`] | [`CallGroups`](calls::CallGroups): ranks that are in different collective calls |
//! | [`extent`] | [`Extent`]: a range of bytes of a file |
//! | [`fingerprint()`] | a hash of bytes, the same in every build |
//! | [`say()`] | prints a line on standard error |
//! | [`memo`] | remembers answers that take long to get |
//! | [`wire`] | the one encoding of values, for messages between ranks and for captures |
//! | [`is_disabled`] | returns true if `TRIB_DISABLE` switches the library off |
//! | [`variable`] | reads a variable of the environment, unless the program has more rights than its user |

pub mod calls;
pub mod error;
pub mod extent;
mod fingerprint;
pub mod memo;
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
pub use variables::{has_more_rights, is_disabled, variable, variables};
