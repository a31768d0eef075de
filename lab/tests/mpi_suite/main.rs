//! The tests that start ranks under `mpiexec`: each starts this program again, for that test only.

#[path = "../common/collective_suite.rs"]
mod collective_suite;
#[path = "../../../tests/common/mpiexec.rs"]
mod mpiexec;

mod collectives;
mod intergroup;
