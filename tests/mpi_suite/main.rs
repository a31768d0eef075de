//! The tests that start ranks under `mpiexec`: each starts this program again, for that test only.

mod conformance;
mod f_case;
mod faults;
mod patterns;
mod stripes;
mod transport;
