//! Writes and reads back every pattern with ranks as threads: each setting of the matrix meets a pattern.

use tributary::Endpoint;
use tributary::fabric::threads;
use tributary_testing::pattern_matrix;
use tributary_testing::pattern_matrix::{RANKS, all, serial};
use tributary_testing::watchdog::Watchdog;

#[test]
fn files_are_written_and_read_back() {
    let _watchdog = Watchdog::new("files_are_written_and_read_back", 600);
    let (patterns, directory) = (all(), tempfile::tempdir().unwrap());
    let expected: Vec<_> = patterns.iter().map(|pattern| serial(&*pattern.0, directory.path())).collect();
    threads::run(RANKS, |transport| {
        pattern_matrix::run(Endpoint::new(transport), &patterns, &expected, directory.path(), patterns.len());
    })
    .unwrap();
}

#[test]
fn an_exchange_is_replayed() {
    let _watchdog = Watchdog::new("an_exchange_is_replayed", 120);
    threads::run(RANKS, |transport| {
        pattern_matrix::exchange(Endpoint::new(transport));
    })
    .unwrap();
}
