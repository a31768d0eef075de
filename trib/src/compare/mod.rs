//! `trib compare`: measures a program by the MPI library alone, by the same with its best hints, and with the preload library, in
//! turns.
//!
//! | module | holds |
//! |---|---|
//! | `program` | the measurement |
//! | `variant` | the hints that are tried |
//! | `build` | compiles C programs, once |
//! | `process` | one run |
//! | `statistics` | medians and ratios |
//! | `machine` | what is measured on |

pub mod build;
pub mod machine;
pub mod process;
mod program;
pub mod statistics;
pub mod variant;

pub use build::inside;
pub use program::{INSIDE, run, seconds_inside};
