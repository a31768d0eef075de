//! Calls on a shared file: open, write, read, synchronise, close.
//!
//! | module | holds |
//! |---|---|
//! | `open` | open, sync and close; calls that refuse, that is, take part with an error |
//! | `write`, `read` | the blocking collective calls; `operation`: the non-blocking ones |
//! | `independent` | independent writes and reads; the size of the file |
//! | `capturing` | stores the capture at the close |
//! | `alone` | failures of a rank that has no endpoint yet |

pub(in crate::engine) mod alone;
mod capturing;
mod independent;
mod open;
pub(in crate::engine) mod operation;
pub(in crate::engine) mod read;
mod write;
