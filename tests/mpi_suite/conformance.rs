//! Runs the conformance suite on the MPI fabric.
//!
//! Each case runs with a twelfth of the hints, not a sixth as on threads. This covers every kernel with every driver,
//! every throttle in both modes, and every case, but fewer combinations. There are at most 9 ranks, because they share few
//! cores; more ranks test code above the fabric, which the suite on threads covers.

use tributary::Endpoint;
use tributary_testing::mpiexec::{directory, under_mpiexec, world};
use tributary_testing::suite;

#[test]
fn any_number_of_ranks() {
    under_mpiexec("conformance::any_number_of_ranks", &[1, 2, 3, 5, 8], || {
        let (_world, endpoint) = world();
        let endpoint = Endpoint::new(Box::new(endpoint));
        suite::run_part(endpoint, &directory(), 12);
    });
}

#[test]
fn through_shared_memory() {
    under_mpiexec("conformance::through_shared_memory", &[1, 2, 5, 9], || {
        let (_world, endpoint) = world();
        suite::run_shared(Endpoint::new(Box::new(endpoint)), &directory());
    });
}

#[test]
fn nodes_that_share_memory() {
    under_mpiexec("conformance::nodes_that_share_memory", &[3, 5, 8], || {
        let (_world, endpoint) = world();
        let endpoint = Endpoint::new(Box::new(endpoint));
        suite::run_in_nodes(endpoint, &directory(), 8);
    });
}
