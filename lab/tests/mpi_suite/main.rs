//! The tests that start ranks under `mpiexec`: each starts this program again, for that test only.

#[path = "../suite/collective_suite.rs"]
mod collective_suite;
mod collectives;
mod intergroup;
