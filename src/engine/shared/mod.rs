//! Collective writes and reads of ranks that share memory: no messages, no copies but one, one wait for a small call.
//!
//! ```text
//! a write:  meet (arguments; small data) -> each rank places its bytes in the windows, windows are written as they are
//!           complete -> meet (outcome)
//! a read:   serve oneself where that is cheap -> meet -> windows are read once, each rank takes its bytes -> meet
//! ```
//!
//! A meeting ([`crate::fabric::shared`]) lets the last rank that arrives look at what all have brought. It decides for
//! everyone which way the call goes, and does small calls whole: then the call costs every rank one wait.
//!
//! The windows are a ring of shared memory that is mapped by all ranks: each copies its own bytes to where they lie, all
//! cores at once. Every rank goes through the file upwards and tells how far it is; what all have passed is complete and is
//! written by whoever comes by first, one at a time, since file systems lock a file for the time of a write anyway.
//!
//! | module | holds |
//! |---|---|
//! | [`opening`] | what a rank brings, and what the last one decides |
//! | [`small`] | calls that fit the slots |
//! | [`arena`] | the memory: how far ranks are, the ring, its bits |
//! | [`tiling`] | a fingerprint by which pieces of several ranks are known to tile a range |
//! | [`own`] | what a rank writes by itself |
//! | [`placing`] | a rank's bytes into the windows |
//! | [`drain`] | complete windows to the file |
//! | [`ordered`] | ranks one after the other, where they overlap |
//! | [`taking`] | windows from the file, and a rank's bytes out of them |
//! | [`copy`] | short copies |
//! | [`write`](mod@write), [`read`](mod@read) | the two calls |

mod arena;
mod closing;
mod drain;
mod opening;
mod ordered;
mod placing;
mod read;
pub(in crate::engine) mod small;
mod taking;
mod tiling;
mod write;

pub use arena::{AREA, Arena, CONTROL};
pub use tiling::Tiling;
