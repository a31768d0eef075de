//! Tests that start ranks under `mpiexec`: each starts this program again, for that test only.

#[path = "../suite/collective_suite.rs"]
mod collective_suite;
mod collectives;
mod intergroup;
#[path = "../suite/same_messages.rs"]
mod same_messages;

use tributary_testing::mpiexec::{directory, under_mpiexec, world};

#[test]
fn mpi_sends_what_is_simulated() {
    under_mpiexec("mpi_sends_what_is_simulated", &[same_messages::RANKS], || {
        let (_world, endpoint) = world();
        same_messages::sends_what_is_simulated(Box::new(endpoint), &directory());
    });
}
