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
//! | module | holds |
//! |---|---|
//! | `abi` | the functions, constants and types of the MPI library |
//! | `exports` | the table of interposed functions: **a new function is a row there** |
//! | `entry`, `next` | the entry of every call; the functions of MPI, and the next function of that name |
//! | `component` | the same handlers as a component of Open MPI, which is not preloaded |
//! | `door` | which of the two takes the calls of a program; a static MPI library; whether the MPI library is supported |
//! | `error_handler`, `failures` | the program's error handler of a file; failed calls, and which errors are printed |
//! | `calls`, `arguments` | the handlers of the interposed functions; the program's arguments of reads and writes |
//! | `files` | the program's open files |
//! | `own_handle` | this library's own handle of a file on NFS, for independent calls |
//! | `single_rank` | the handle of a file that a single rank has open, for collective calls of one piece |
//! | `sieving` | keeps MPI from data sieving while others may be writing; MPI's second handle of a file, which may sieve |
//! | `backend` | which library runs a file's collective calls; the engine's opening of a file in the first of them |
//! | `pending` | calls in flight |
//! | `offer`, `open_watch`, `ranks_here` | the agreement in MPI_File_open; the thread that watches it; which ranks have the library |
//! | `channel` | the communicator of a file |
//! | `view`, `pointer`, `hints` | the file view; the individual file pointer; the hints |
//! | `job` | what was accelerated of a job, and the line about it in the site's log |
//! | `datatype` | MPI datatypes as extents |
//! | `counts`, `deletions`, `report` | counts of calls; of calls that deleted nothing; TRIB_REPORT |
//!
//! `docs/tutorial/drop-in.md` in the repository tells users what to type.

pub mod abi;
mod arguments;
mod backend;
mod calls;
mod channel;
mod component;
mod counts;
pub mod datatype;
mod deletions;
mod door;
mod entry;
mod error_handler;
mod exports;
mod failures;
mod files;
mod hints;
mod job;
mod next;
mod offer;
mod open_watch;
mod own_handle;
mod pending;
mod pointer;
mod ranks_here;
mod report;
mod sieving;
mod single_rank;
mod view;
