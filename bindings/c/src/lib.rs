//! The C API of Tributary. The functions' documentation is that of `include/tributary.h`, which is made from it.
//!
//! | module | holds |
//! |---|---|
//! | `status` | error codes, the last error's sentence, and the guard around every function: no panic crosses it |
//! | `file` | the handle: opened, closed; `running` is its operation in flight |
//! | `extents` | sequences of extents that are built once and used often |
//! | `lists` | what C gives as arrays, checked |
//! | `collective`, `nonblocking`, `independent` | writes and reads |
//! | `hints`, `statistics` | what can be asked |
//!
//! A function that is collective fails on all ranks or on none: a rank whose arguments are bad takes part all the same, with
//! its error.
#![cfg(feature = "mpi")]
#![allow(non_camel_case_types, reason = "the names of C")]
#![allow(clippy::too_many_arguments, reason = "C has no slices")]
#![allow(clippy::missing_safety_doc, reason = "the header says of every pointer what it must be")]

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
pub mod text;
