//! Tests of the command line under `mpiexec`: one program.

mod cli;
mod compare;
mod doctor;
mod run;
