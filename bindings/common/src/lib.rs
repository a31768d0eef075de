//! Shared code of the three bindings: the C API, the functions of GIO, and the library to preload. Programs do not
//! use this crate.
//!
//! | module | holds |
//! |---|---|
//! | `access`, `list` | this rank's part of a call; lists of offsets and lengths as C passes them |
//! | `info`, `hints` | `MPI_Info` as keys and values; the hints in force |
//! | `handles` | which handles of files are open |
//! | `opening` | the endpoint of a communicator; terms that one rank decides |
//! | `communicator` | whether a communicator has all ranks of the program |
//! | `prefix` | prefixes of file names that name a file system |
//! | `guard` | no panic reaches C |
//! | `version` | the symbol that tells a library's version |

pub mod access;
pub mod communicator;
pub mod guard;
pub mod handles;
pub mod hints;
pub mod info;
pub mod list;
pub mod opening;
pub mod prefix;
pub mod version;
