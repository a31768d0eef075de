//! Tests of the command line under `mpiexec`: one program.

#[path = "../common/installation.rs"]
mod installation;

mod cli;
mod compare;
mod doctor;
mod run;
