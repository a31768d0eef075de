//! The tests of the command line under `mpiexec`: one program.

#[path = "../../../tests/common/mpiexec.rs"]
#[allow(dead_code, reason = "this file starts a program, not itself")]
mod launch;
#[path = "../common/small.rs"]
mod small;

mod cli;
mod compare;
mod hosts;
