//! Tests of the laboratory's commands under `mpiexec`: one program.

mod commands;
mod compare;
mod hosts;
