//! Calls on a shared file: open, write, read, synchronise, close.
//!
//! | module | holds |
//! |---|---|
//! | `open` | opening and closing; errors in place of a call |
//! | `write`, `read` | the collective calls; `operation`: those that do not block |
//! | `independent` | what one rank does alone; the size of the file |
//! | `capturing` | calls recorded for a capture, which is stored at the close |
//! | `alone` | a failure of one rank that has no endpoint yet |

pub(in crate::engine) mod alone;
mod capturing;
mod independent;
mod open;
pub(in crate::engine) mod operation;
pub(in crate::engine) mod read;
mod write;
