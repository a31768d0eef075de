//! The C API of Tributary. `include/tributary.h` is generated from the functions and their documentation.
//!
//! | module | holds |
//! |---|---|
//! | `status` | error codes, the text of the last error, and the guard around every function, which lets no panic through |
//! | `file`, `running` | the handle, its opening and closing; its operation in flight |
//! | `extents` | sequences of extents, built once and used in many calls |
//! | `lists` | checks of the arrays that C passes; where results and texts go |
//! | `collective`, `nonblocking`, `independent` | writes and reads |
//! | `hints`, `statistics` | hints in force, and statistics of the last call |
//!
//! A collective function fails on all ranks or on none: a rank with bad arguments takes part in the call and passes its
//! error to the others.
#![allow(non_camel_case_types, reason = "the names of C")]
#![allow(clippy::too_many_arguments, reason = "C has no slices")]
#![allow(clippy::missing_safety_doc, reason = "the header says what every pointer must point to")]

pub mod collective;
pub mod extents;
pub mod file;
pub mod hints;
pub mod independent;
pub mod lists;
pub mod nonblocking;
pub mod running;
pub mod statistics;
pub mod status;
