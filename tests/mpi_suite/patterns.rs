//! Writes and reads back every pattern on MPI, with every kernel, in one program of 16 ranks.

use tributary::Endpoint;
use tributary_testing::mpiexec::{directory, under_mpiexec, world};
use tributary_testing::pattern_matrix;
use tributary_testing::pattern_matrix::{RANKS, all, serial};

#[test]
fn files_are_written_and_read_back() {
    under_mpiexec("patterns::files_are_written_and_read_back", &[RANKS], || {
        let (_world, endpoint) = world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        // Every rank compares with a file of its own making.
        let own = tempfile::tempdir().unwrap();
        for (turn, pattern) in all().iter().enumerate() {
            let expected = serial(&*pattern.0, own.path());
            endpoint = pattern_matrix::run(endpoint, pattern, &expected, &directory(), turn);
        }
    });
}

#[test]
fn an_exchange_is_replayed() {
    under_mpiexec("patterns::an_exchange_is_replayed", &[RANKS], || {
        let (_world, endpoint) = world();
        pattern_matrix::exchange(Endpoint::new(Box::new(endpoint)));
    });
}
