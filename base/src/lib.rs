//! Types that all crates of Tributary use: ranks and nodes, extents of a file, errors.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | [`Error`]: the causes of errors, the same on every rank |
//! | [`topology`] | [`Topology`]: the node of each rank |
//! | [`calls`] | [`CallGroups`](calls::CallGroups): ranks that are in different collective calls |
//! | [`Extent`] | a range of bytes of a file |
//! | [`fingerprint()`] | a hash of bytes, the same in every build |
//! | [`say()`] | prints a line on standard error |
//! | [`memo`] | remembers answers that take long to get |
//! | [`wire`] | the one encoding of values, for messages between ranks and for captures |
//! | [`is_disabled`] | returns true if `TRIB_DISABLE` switches the library off |
//! | [`variable`] | reads a variable of the environment, unless the program has more rights than its user |

pub mod calls;
pub mod error;
mod fingerprint;
pub mod memo;
pub mod topology;
mod variables;
pub mod wire;

pub use error::{Error, Result};
pub use fingerprint::{fingerprint, mixed};
pub use topology::{Node, Rank, Topology};
pub use variables::{has_more_rights, is_disabled, variable, variables};

use std::fmt::Display;
use std::io::Write;

/// A range of bytes of a file. Every extent that the library returns ends below 2^63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Extent {
    /// Offset of the first byte, in bytes.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Extent {
    /// Returns the offset of the first byte behind the extent.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }
}

/// Prints `tributary: ` and the text as one line on standard error, with one write(2), so that lines of several ranks do not mix.
/// Ignores errors of standard error. Local.
pub fn say(text: impl Display) {
    let line = format!("tributary: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
