//! `trib compare`: measures a program in turns with the MPI library's own I/O, with the MPI library's best hints, and with
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
//! | `machine` | the machine on which the program is measured |

pub mod build;
pub mod machine;
pub mod process;
mod program;
pub mod slow_file;
pub mod statistics;
pub mod variant;

/// Returns the variable, with its value, of a run without the library: the program may be linked with the library, and
/// Open MPI may find the component in its own folders.
pub fn disabled() -> (String, String) {
    ("TRIB_DISABLE".to_string(), "1".to_string())
}

pub use build::inside;
pub use program::{INSIDE, run, seconds_inside};
