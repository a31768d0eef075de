//! Tests what later calls see and write while write-behind has bytes of earlier ones, on a file that is slow.

use crate::common::launch::{Launch, is_component};
use crate::common::programs::{compile, preloadable};

const RANKS: usize = 3;
/// One host; a host for each rank, or for two; messages through one aggregator, which has the bytes of all ranks.
const WAYS: [&str; 4] = [
    "",
    "trib_shared_memory=enable; trib_ranks_per_node=1",
    "trib_shared_memory=enable; trib_ranks_per_node=2",
    "trib_shared_memory=disable; romio_cb_write=enable; romio_cb_read=enable; cb_nodes=1",
];

/// Runs a program with write-behind and a fault, in all ways.
///
/// # Panics
/// Panics if a run fails or does not print `ok`.
fn is_ok(source: &str, fault: &str, more: &str) {
    let with = Launch::new(RANKS, &compile(source)).arg("small").with_library().also_preload(&preloadable("faults"));
    for way in WAYS {
        let hints = format!("trib_write_behind=4M; {way}; {more}");
        let outcome = with.clone().hints(&hints).env("TRIB_TEST_FAULT", fault).run();
        assert!(outcome.stdout.contains("ok\n"), "{source}, {fault}, {hints}:\n{}{}", outcome.stdout, outcome.stderr);
    }
}

/// Slow: 4 runs of 2 seconds.
#[test]
fn the_end_of_the_file_is_that_of_completed_calls() {
    is_ok("behind_end.c", "slow:-1:0", "");
}

/// Slow: 8 runs of 2 seconds.
#[test]
fn a_later_write_wins() {
    is_ok("behind_order.c", "slow:1:0", "");
    is_ok("behind_order.c", "slow:1:0", "romio_cb_write=disable");
}

#[test]
fn a_new_size_is_the_end_of_the_file() {
    is_ok("behind_size.c", "slow:1:0", "");
    is_ok("behind_size.c", "slow:1:0", "romio_cb_read=enable");
}

/// Each rank that writes has an error; through one aggregator, that is one rank.
#[test]
fn every_late_error_is_returned() {
    let with = Launch::new(RANKS, &compile("behind_errors.c"))
        .arg("small")
        .with_library()
        .also_preload(&preloadable("faults"));
    for (way, errors) in WAYS.into_iter().zip([RANKS, RANKS, RANKS, 1]) {
        let launch = with.clone().hints(&format!("trib_write_behind=4M; {way}")).env("TRIB_TEST_FAULT", "space:-1:1");
        let outcome = launch.clone().arg("sync").run();
        assert_eq!(outcome.stdout, format!("{errors} failed\n"), "{way}:\n{}", outcome.stderr);
        let outcome = launch.arg("close").run();
        // Open MPI returns success from MPI_File_close whatever a component returns.
        let due = format!("{} failed\n", u8::from(!is_component()));
        assert_eq!(outcome.stdout, due, "{way}:\n{}", outcome.stderr);
        let line = outcome.stderr.lines().find(|line| line.contains("MPI_File_close: rank 0: deferred write"));
        let listed = line.map(|line| line.matches(": deferred write").count());
        assert_eq!(listed, Some(errors), "{way}:\n{}", outcome.stderr);
    }
}
