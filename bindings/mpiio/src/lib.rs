//! The library that is preloaded (LD_PRELOAD) under an unmodified MPI program and runs the program's collective file
//! I/O on Tributary.
//!
//! ```text
//! mpiexec -n 64 -env LD_PRELOAD libtributary_mpiio.so ./program
//! ```
//!
//! Open MPI can also load the library as a component, without preloading it (`component`).
//!
//! Every function of MPI's chapter on I/O is interposed. The MPI library keeps its own file open. Collective reads
//! and writes go to the engine if the engine supports the view; all other calls are counted and passed on unchanged.
//!
//! | room | holds |
//! |---|---|
//! | `exports` | the table of interposed functions: **a new function is a row there**; the same handlers as a component of Open MPI |
//! | `calls` | the handlers of the interposed functions |
//! | `entry` | the entry of every call: runs its handler, and does what the handler answers |
//! | `file` | the program's open files: who runs their calls, calls in flight, counts, the report |
//! | `opening` | the agreement in MPI_File_open; the thread that watches it; the communicator of a file |
//! | `view` | the file view, the individual file pointer, MPI datatypes as extents |
//! | `mpi` | the functions, constants and types of the MPI library; the next definition of a name; whether calls come to the preloaded library or to the component |
//!
//! A room is a module of this table with the modules in it. A room uses only rooms below it (`tests/suite/layers.rs`).
//!
//! `docs/tutorial/drop-in.md` in the repository shows users how to run a program with it.

mod calls;
mod entry;
mod exports;
mod file;
mod mpi;
mod opening;
mod view;

pub use mpi::abi;
pub use view::datatype;
