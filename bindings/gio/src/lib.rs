//! The functions of GIO, the I/O library below PnetCDF from version 1.15 on, on the engine. `include/gio.h` documents them.
//!
//! | module | holds |
//! |---|---|
//! | `code` | error codes, their names and descriptions; the guard around every function, which stops panics too |
//! | `handle` | open files and their handles |
//! | `amode`, `open` | how a file is opened, closed and deleted |
//! | `hints` | `MPI_Info`, translated to the engine's hints |
//! | `lists` | lists of offsets and lengths, checked and turned into accesses |
//! | `transfer` | collective and independent writes and reads |
//! | `size` | the size of a file, and sync |
//! | `subarray` | lists of subarrays |
//! | `all` | keeps the functions together in a static link |
//!
//! A function that GIO's documentation calls collective fails on all ranks or on none: a rank with bad arguments takes part
//! in the call and passes its error to the others.
#![allow(non_snake_case, reason = "the names of C")]
#![allow(clippy::too_many_arguments, reason = "C has no slices")]
#![allow(clippy::missing_safety_doc, reason = "the header says what every pointer must point to")]

mod all;
mod amode;
pub mod code;
mod handle;
mod hints;
mod lists;
pub mod open;
pub mod size;
pub mod subarray;
pub mod transfer;

pub use tributary_abi::MPI_Offset;
