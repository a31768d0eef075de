//! The library that is preloaded under an unmodified MPI program and runs its collective file I/O on Tributary.
//!
//! ```text
//! mpiexec -n 64 -env LD_PRELOAD libtributary_mpiio.so ./program
//! ```
//!
//! Every function of MPI's chapter on files is interposed. The MPI library's own file is always open below; collective
//! reads and writes go to the engine where it knows the view, and everything else passes through, unharmed and counted.
//!
//! | module | holds |
//! |---|---|
//! | `abi` | what is used of the MPI library |
//! | `exports` | the table of interposed functions: **a new function is a row there** |
//! | `entry`, `next`, `supported` | on or off; the function behind ours; whether the MPI library is one that is known |
//! | `calls` | what the interposed functions do |
//! | `files`, `open_file` | the program's open files; one of them |
//! | `backend` | who runs its collective calls |
//! | `pending` | calls that were started and have not ended |
//! | `channel`, `starting` | how its ranks talk; the engine's part, from the first collective call on |
//! | `view`, `hints` | what it sees of the file; what it asks for |
//! | `datatype` | MPI datatypes as extents |
//! | `counts`, `report` | what became of the calls, and TRIB_REPORT |
//!
//! `docs/tutorial/drop-in.md` in the repository tells users what to type.
#![cfg(feature = "mpi")]

pub mod abi;
mod backend;
mod calls;
mod channel;
mod counts;
pub mod datatype;
mod entry;
mod exports;
mod files;
mod hints;
mod next;
mod open_file;
mod pending;
mod report;
mod starting;
mod supported;
mod view;
