//! The one place that knows the MPI library's binary interface: its handles, its constants, its functions.
//!
//! Handles differ (32-bit integers in MPICH, pointers in Open MPI), and so do most constants. Everything else in this
//! crate uses the names exported here, so that a build for another interface (the standard one of MPI-5) is a change to
//! this module.

pub use ::mpi::ffi::{MPI_Datatype, MPI_File, MPI_Info, MPI_Request, MPI_Status};
