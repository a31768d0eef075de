//! Every collective algorithm on MPI.
#![cfg(feature = "mpi")]

#[path = "common/collective_suite.rs"]
mod collective_suite;
#[path = "common/mpiexec.rs"]
mod mpiexec;

use mpiexec::{under_mpiexec, world};
use tributary::Endpoint;
use tributary::collectives::Operation;

#[test]
fn every_algorithm() {
    under_mpiexec("every_algorithm", &[1, 2, 3, 5, 8, 16], || {
        let (_world, endpoint) = world();
        let all = [
            Operation::Allgather,
            Operation::Gather,
            Operation::Scatter,
            Operation::Broadcast,
            Operation::Reduce,
            Operation::Allreduce,
        ];
        collective_suite::run(&mut Endpoint::new(Box::new(endpoint)), &all);
    });
}
