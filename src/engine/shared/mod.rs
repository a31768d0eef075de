//! Collective writes and reads of ranks that share memory: no messages, one copy, and one wait for a small call.
//!
//! ```text
//! a write:  agree (arguments; small data) -> each rank places its bytes in the windows, windows are written as they are
//!           complete -> agree (outcome)
//! a read:   read directly if that is cheap -> agree -> windows are read once, each rank takes its bytes -> agree
//! ```
//!
//! At an agreement in shared memory ([`crate::fabric::shared`]), the last rank to arrive reads the slots of all ranks.
//! It chooses the path of the call, and does a small call completely: then the call costs every rank one wait.
//!
//! The windows are a ring in shared memory that all ranks map. Each rank copies its own bytes into the windows, in
//! parallel. Every rank goes through the file in ascending order and publishes its position. A window that all ranks
//! have passed is complete; the first rank that notices writes it. One rank writes at a time, because file systems lock
//! a file during a write. If the file is slow, threads beside several ranks write.
//!
//! | module | holds |
//! |---|---|
//! | [`arena`] | the ring of windows, its bits and their memory; the control integers of ranks, windows and the call |
//! | [`ring`] | who may use a window, and when: positions of ranks, windows taken, written and given back |
//! | [`window_writer`] | copies a rank's bytes into the windows, and writes complete windows to the file |
//! | [`ordered`] | copies the bytes of ranks into the windows one rank after the other, if ranks overlap |
//! | [`window_reader`] | reads windows from the file, and copies a rank's bytes out of them |
//!
//! The agreements are in `agree`; the calls, between their agreements, in `file/through_windows.rs`.

pub(in crate::engine) mod arena;
pub(in crate::engine) mod ordered;
pub(in crate::engine) mod ring;
pub(in crate::engine) mod window_reader;
pub(in crate::engine) mod window_writer;

pub use arena::{AREA, Arena, CONTROL};
