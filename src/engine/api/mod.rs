//! Calls on a shared file: open, write, read, synchronise, close.
//!
//! | module | holds |
//! |---|---|
//! | `open` | open, sync and close; the size of the file |
//! | `beside` | calls in which another library works on the same file |
//! | `transfer` | collective writes and reads, blocking and non-blocking (`operation`); independent writes and reads |
//! | `capturing` | stores the capture at the close |
//! | `alone` | failures of a rank that has no endpoint yet |

pub(in crate::engine) mod alone;
mod beside;
mod capturing;
mod open;
pub(in crate::engine) mod operation;
pub(in crate::engine) mod transfer;
