//! Writes and reads back every pattern on MPI, in one program of 16 ranks. Each has a third of the settings that it has on threads.

use tributary::Endpoint;
use tributary_testing::mpiexec::{directory, under_mpiexec, world};
use tributary_testing::pattern_matrix;
use tributary_testing::pattern_matrix::{RANKS, all, serial};

#[test]
fn files_are_written_and_read_back() {
    under_mpiexec("patterns::files_are_written_and_read_back", &[RANKS], || {
        let (_world, endpoint) = world();
        // Every rank compares with files of its own making.
        let (patterns, own) = (all(), tempfile::tempdir().unwrap());
        let expected: Vec<_> = patterns.iter().map(|pattern| serial(&*pattern.0, own.path())).collect();
        let endpoint = Endpoint::new(Box::new(endpoint));
        pattern_matrix::run(endpoint, &patterns, &expected, &directory(), 3 * patterns.len());
    });
}

#[test]
fn an_exchange_is_replayed() {
    under_mpiexec("patterns::an_exchange_is_replayed", &[RANKS], || {
        let (_world, endpoint) = world();
        pattern_matrix::exchange(Endpoint::new(Box::new(endpoint)));
    });
}
