//! The laboratory's commands under `mpiexec`: one program.
#![cfg(feature = "mpi")]

#[path = "../../../tests/common/mpiexec.rs"]
#[allow(dead_code, reason = "this file starts a program, not itself")]
mod launch;

mod commands;
