//! Capture: every collective call of a file, recorded while the program runs and stored in one file when it closes.
//!
//! The environment variable `TRIB_CAPTURE` names a directory. Each rank keeps what the engine has anyway: the extents of the
//! call in the file and in memory, its direction and its times; rank 0 also keeps the reports. Lists are shared with the
//! engine and encoded when the file is closed, and a list that is an earlier one moved by a constant is kept once. The
//! capture is written by the engine itself. A program never fails because its capture does: rank 0 prints one line.
//!
//! | module | holds |
//! |---|---|
//! | `target` | where captures go, and how large they may become |
//! | `recording` | what a rank keeps while a file is open |
//! | [`block`] | a rank's part of the capture, as bytes |
//! | [`layout`] | the capture as a whole: preamble, header, index |
//! | [`reader`] | [`Capture`]: a capture that is read |
//! | `writer` | a capture made of calls that are in memory, by one process |

pub mod block;
pub mod layout;
pub mod reader;
pub(in crate::engine) mod recording;
pub(in crate::engine) mod target;
mod writer;

pub use block::Call;
pub use layout::{Asked, Header};
pub use reader::{CallOutcome, Capture};
pub use writer::write;
