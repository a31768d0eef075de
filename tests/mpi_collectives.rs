//! Every collective algorithm on MPI.
#![cfg(feature = "mpi")]

#[path = "common/collective_suite.rs"]
mod collective_suite;
#[path = "common/mpiexec.rs"]
mod mpiexec;

use mpiexec::{under_mpiexec, world};
use tributary::Endpoint;

#[test]
fn every_algorithm() {
    under_mpiexec("every_algorithm", &[1, 2, 3, 5, 8, 16], || {
        let (_world, endpoint) = world();
        collective_suite::run(&mut Endpoint::new(Box::new(endpoint)), &collective_suite::ALL);
    });
}
