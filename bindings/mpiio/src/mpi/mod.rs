//! The program's MPI library.
//!
//! | module | holds |
//! |---|---|
//! | [`abi`] | its functions, constants and types |
//! | [`interposition`] | whether calls come to the preloaded library or to the component; whether the MPI library is supported |
//! | [`next`] | the interposed functions, and the next definition of each |
//! | [`error_handler`] | the program's error handler of a file |
//! | [`inside`] | which threads are inside this library |

pub mod abi;
pub mod error_handler;
pub mod inside;
pub mod interposition;
pub mod next;
