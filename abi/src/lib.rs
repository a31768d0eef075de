//! Calls the MPI library of the process, whatever its ABI.
//!
//! MPI libraries have one of three ABIs: MPICH's, which Intel MPI, Cray MPICH, MVAPICH and ParaStation MPI share; Open MPI's;
//! and the standard ABI of MPI 5. Handles are integers in the first and pointers in the others, and most constants differ.
//! This crate is not linked with any MPI library. It finds the library that the process has loaded ([`find()`]), determines
//! its ABI, and calls its functions by name. Software that is built on this crate runs under all of them.
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
//! | `find` | finds the MPI library and its ABI; loads one for a program that is linked with none |
//! | `library` | shared libraries of the process, in the dynamic linker; an MPI library that is linked into the program |
//! | `handle` | communicators, datatypes and other handles, also of Fortran |
//! | `constants` | the constants of `mpi.h` for each ABI; statuses |
//! | `functions` | the call of a function by its name, and the functions: **a new function is a line there** |
//! | [`word`] | an argument of unknown type |
//!
//! A function is looked up once, under its profiling name (`PMPI_...`): tools that count a program's messages do not count
//! these. Later calls cost two loads and a branch more than a direct call, no lock and no look-up.

mod constants;
mod find;
mod functions;
mod handle;
mod library;
pub mod word;

pub use constants::{Constants, MPI_Status, PredefinedHandles, Statuses, constants, handles};
pub use find::{Abi, Mpi, NotLoaded, Refusal, Width, find, function, load};
pub use functions::*;
pub use handle::{
    HandleArray, MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Info, MPI_Op, MPI_Request,
    communicator_of_fortran,
};
pub use library::{LinkedFunction, link, path_of};

use std::ffi::c_int;

/// Return code of success, in every MPI library.
pub const SUCCESS: c_int = 0;

/// Return code of a call if the process has no MPI library, or if the library lacks the function. MPI's own codes are
/// not negative.
pub const MISSING: c_int = c_int::MIN;

/// MPI's type of addresses, file offsets and large counts: 64 bits in every MPI library on the machines of this
/// crate.
#[allow(non_camel_case_types, reason = "MPI's names")]
pub type MPI_Aint = i64;
#[allow(non_camel_case_types, missing_docs, reason = "MPI's names; documented above")]
pub type MPI_Offset = i64;
#[allow(non_camel_case_types, missing_docs, reason = "MPI's names; documented above")]
pub type MPI_Count = i64;
