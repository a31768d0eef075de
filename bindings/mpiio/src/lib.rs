//! The library that is preloaded under an unmodified MPI program and runs its collective file I/O on Tributary.
//!
//! ```text
//! mpiexec -n 64 -env LD_PRELOAD /usr/local/lib/libtributary_mpiio_mpich.so ./program
//! ```
#![cfg(feature = "mpi")]

pub mod abi;
