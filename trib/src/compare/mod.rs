//! `trib compare`: measures a program in turns with the MPI library alone, with the MPI library's best hints, and with
//! the preload library.
//!
//! | module | holds |
//! |---|---|
//! | `program` | the measurement |
//! | `variant` | the hints that are tried |
//! | `build` | compiles C programs, once |
//! | `slow_file` | a slow file system |
//! | `process` | one run |
//! | `statistics` | medians and ratios |
//! | `machine` | what is measured on |

pub mod build;
pub mod machine;
pub mod process;
mod program;
pub mod slow_file;
pub mod statistics;
pub mod variant;

pub use build::inside;
pub use program::{INSIDE, run, seconds_inside};
