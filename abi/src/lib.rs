//! The MPI library of the process, whatever its binary interface.
//!
//! MPI libraries have one of three binary interfaces: MPICH's, which Intel MPI, Cray MPICH, MVAPICH and ParaStation MPI keep;
//! Open MPI's; and the standard one of MPI 5. Handles are integers in the first and pointers in the others, and most constants
//! differ. This crate is linked with none of them: it finds the library that the process has loaded ([`find()`]), tells which
//! interface it has, and calls it by name. What is built on it runs under all.
//!
//! ```no_run
//! use tributary_abi as mpi;
//!
//! let mut ranks = 0;
//! // SAFETY: MPI is initialised, and the communicator is one of its own.
//! let code = unsafe { mpi::MPI_Comm_size(mpi::handles().comm_world, &mut ranks) };
//! assert_eq!(code, mpi::SUCCESS, "and not mpi::MISSING: there is an MPI library, and it has the function");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `find` | which MPI library this is, and whether it is what it seems to be |
//! | `library` | shared libraries of the process, by the dynamic linker |
//! | `load` | an MPI library for a program that was linked with none |
//! | `handle`, `status` | communicators, datatypes and so on; what a call tells of a message |
//! | `constants` | the numbers of `mpi.h`, for each interface |
//! | `call`, `functions` | how a function is called, and the functions: **a new function is a line there** |
//! | `fortran` | communicators as Fortran has them |
//! | [`word`] | an argument of a call, before anybody knows what it is |
//!
//! A function is looked up once, under its profiling name (`PMPI_...`): tools that count a program's messages do not count
//! these. Later calls cost two loads and a branch more than a direct call, no lock and no look-up.

mod call;
mod constants;
mod find;
mod fortran;
mod functions;
mod handle;
mod library;
mod load;
mod status;
pub mod word;

#[doc(hidden)]
pub use call::{Argument, Function};
pub use constants::{Constants, Handles, constants, handles};
pub use find::{Abi, Mpi, Refusal, Width, find, function};
pub use fortran::communicator_of_fortran;
pub use functions::*;
pub use handle::{MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Info, MPI_Op, MPI_Request, Row};
pub use load::{NotLoaded, load};
pub use status::{MPI_Status, Statuses};

use std::ffi::c_int;

/// The return code of a call that went well, in every MPI library.
pub const SUCCESS: c_int = 0;

/// What a call returns when the process has no MPI library, or one without this function. No code of MPI's is negative.
pub const MISSING: c_int = c_int::MIN;

/// MPI's addresses, file offsets and large counts: 64 bits in every MPI library on the machines of this crate.
#[allow(non_camel_case_types, reason = "MPI's names")]
pub type MPI_Aint = i64;
#[allow(non_camel_case_types, missing_docs, reason = "MPI's names; documented above")]
pub type MPI_Offset = i64;
#[allow(non_camel_case_types, missing_docs, reason = "MPI's names; documented above")]
pub type MPI_Count = i64;
