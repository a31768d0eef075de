//! The functions of GIO, the I/O library below PnetCDF from version 1.15 on, on the engine. `include/gio.h` documents them.
//!
//! | module | holds |
//! |---|---|
//! | `code` | error codes, their names and words |
//! | `guard` | what surrounds every function: an error becomes a code, no panic crosses it |
//! | `handle` | open files and their handles |
//! | `amode`, `name`, `open` | how a file is opened, closed and deleted |
//! | `info`, `hints` | `MPI_Info`, and what it means to the engine |
//! | `lists` | lists of offsets and lengths, checked and made into accesses |
//! | `collective`, `independent` | writes and reads, of all ranks and of one |
//! | `size` | the size of a file, and sync |
//! | `subarray`, `memory` | lists of subarrays; memory statistics |
//! | `all` | keeps the functions together in a static link |
//!
//! What GIO's documentation calls collective fails on all ranks or on none: a rank whose arguments are bad takes part all the
//! same, with its error.
#![cfg(feature = "mpi")]
#![allow(non_snake_case, reason = "the names of C")]
#![allow(clippy::too_many_arguments, reason = "C has no slices")]
#![allow(clippy::missing_safety_doc, reason = "the header says of every pointer what it must be")]

mod all;
mod amode;
pub mod code;
pub mod collective;
mod guard;
mod handle;
mod hints;
pub mod independent;
mod info;
mod lists;
pub mod memory;
mod name;
pub mod open;
pub mod size;
pub mod subarray;

/// The integer of MPI for what does not fit in an `int`.
#[allow(non_camel_case_types, reason = "the name of C")]
pub type MPI_Offset = i64;
