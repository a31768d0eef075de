//! The conformance suite on the MPI fabric.
//!
//! Each case meets a sixth of the hints (on 32 ranks a twelfth), not a third as on threads: still every kernel with every
//! driver, every throttle and both its modes, and every case, only fewer of their products.
#![cfg(feature = "mpi")]

#[path = "common/mpiexec.rs"]
mod mpiexec;
#[path = "common/reading.rs"]
mod reading;
#[path = "common/suite.rs"]
mod suite;

use mpiexec::{directory, under_mpiexec, world};
use tributary::Endpoint;

#[test]
fn any_number_of_ranks() {
    under_mpiexec("any_number_of_ranks", &[1, 2, 3, 5, 8, 13, 32], || {
        let (_world, endpoint) = world();
        let endpoint = Endpoint::new(Box::new(endpoint));
        let part = if endpoint.ranks() > 13 { 12 } else { 6 };
        suite::run_part(endpoint, &directory(), part);
    });
}

#[test]
fn through_shared_memory() {
    under_mpiexec("through_shared_memory", &[1, 2, 5, 16], || {
        let (_world, endpoint) = world();
        suite::run_shared(Endpoint::new(Box::new(endpoint)), &directory());
    });
}

#[test]
fn nodes_that_share_memory() {
    under_mpiexec("nodes_that_share_memory", &[3, 5, 8, 16], || {
        let (_world, endpoint) = world();
        let endpoint = Endpoint::new(Box::new(endpoint));
        let part = if endpoint.ranks() > 8 { 24 } else { 8 };
        suite::run_in_nodes(endpoint, &directory(), part);
    });
}
