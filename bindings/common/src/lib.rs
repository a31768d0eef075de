//! Shared code of the three bindings: the C API, the functions of GIO, and the library to preload. Programs do not
//! use this crate.
//!
//! | module | holds |
//! |---|---|
//! | `list` | lists of offsets and lengths as C passes them |
//! | `info`, `hints` | `MPI_Info` as keys and values; the hints in force |
//! | `handles` | the table of the handles of open files |
//! | `opening` | the endpoint of a communicator; terms that one rank decides; the error of a file opened for reading only |
//! | `communicator` | checks whether a communicator has all ranks of the program |
//! | `prefix` | prefixes of file names that name a file system |
//! | `guard` | stops panics before they reach C |

pub mod communicator;
pub mod guard;
pub mod handles;
pub mod hints;
pub mod info;
pub mod list;
pub mod opening;
pub mod prefix;

/// Version such as "0.1.0", as a C text that each of the three libraries exports under this name: tools read it from
/// a library's file, without running it. It is one object of this crate, so that a program can be linked with two of
/// the static libraries.
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals, reason = "the name of the symbol")]
pub static tributary_version: [u8; TEXT.len()] = {
    let mut text = [0; TEXT.len()];
    text.copy_from_slice(TEXT.as_bytes());
    text
};

const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
