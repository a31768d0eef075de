//! The C API of Tributary.
#![cfg(feature = "mpi")]
