//! The tests that start ranks under `mpiexec`: each starts this program again, for that test only.

mod conformance;
#[path = "../suite/counted.rs"]
mod counted;
mod faults;
mod holes;
mod patterns;
mod stripes;
mod transport;
