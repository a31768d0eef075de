//! Captures: records every collective call on a file while the program runs, and stores the calls in one file at the
//! close.
//!
//! The environment variable `TRIB_CAPTURE` names a directory, and may limit the size of a capture. Each rank keeps the
//! extents of the call in the file and in memory, its direction and its times; rank 0 also keeps the reports. Lists of
//! extents are shared with the engine and encoded when the file is closed. A list that is an earlier list moved by a
//! constant is kept once. The engine itself writes the capture. A program never fails because its capture fails: rank 0
//! prints one line.
//!
//! | module | holds |
//! |---|---|
//! | `target` | directory and size limit of captures |
//! | `recording` | the calls that a rank keeps while a file is open |
//! | [`block`] | encodes and decodes the calls of one rank |
//! | [`independent`] | the calls on a file that its capture does not hold |
//! | [`layout`] | encodes and decodes the whole capture: preamble, header, index |
//! | [`reader`] | [`Capture`]: reads a capture |
//! | `writer` | writes a capture of calls in memory, by one process |

pub mod block;
pub mod independent;
pub mod layout;
pub mod reader;
pub(in crate::engine) mod recording;
pub(in crate::engine) mod target;
mod writer;

/// Returns true if the environment of this process asks for captures. Local.
pub fn is_wanted() -> bool {
    target::CaptureTarget::of_process().is_some()
}

pub use block::Call;
pub use independent::{IndependentCalls, LeftCalls, NotCaptured, SmallCalls};
pub use layout::{Asked, Header};
pub use reader::{CallOutcome, Capture};
pub use target::CaptureTarget;
pub use writer::write;
