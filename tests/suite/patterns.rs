//! Writes and reads back every pattern with ranks as threads, with every kernel and driver.

use tributary::Endpoint;
use tributary::fabric::threads;
use tributary_testing::pattern_matrix;
use tributary_testing::pattern_matrix::{RANKS, all, serial};
use tributary_testing::watchdog::Watchdog;

#[test]
fn files_are_written_and_read_back() {
    let _watchdog = Watchdog::new("files_are_written_and_read_back", 600);
    for pattern in &all() {
        let directory = tempfile::tempdir().unwrap();
        let expected = serial(&*pattern.0, directory.path());
        threads::run(RANKS, |transport| {
            let mut endpoint = Endpoint::new(transport);
            for turn in 0..3 {
                endpoint = pattern_matrix::run(endpoint, pattern, &expected, directory.path(), turn);
            }
        })
        .unwrap();
    }
}

#[test]
fn an_exchange_is_replayed() {
    let _watchdog = Watchdog::new("an_exchange_is_replayed", 120);
    threads::run(RANKS, |transport| {
        pattern_matrix::exchange(Endpoint::new(transport));
    })
    .unwrap();
}
