//! Tests what later calls see and write while write-behind has bytes of earlier ones, on a file that is slow.

use super::{HOSTS, launch, prints_ok};
use crate::common::programs::preloadable;

const RANKS: usize = 3;
/// A host for each rank.
const ALONE: &str = "trib_shared_memory=enable; trib_ranks_per_node=1";
/// Messages through one aggregator, which has the bytes of all ranks.
const MESSAGES: &str = "trib_shared_memory=disable; romio_cb_write=enable; romio_cb_read=enable; cb_nodes=1";

/// Runs a program with write-behind and further `hints`, on one host and as on several, with a fault.
fn is_ok_behind(source: &str, fault: &str, hints: &[&str]) {
    let with = launch(source, RANKS, &[]).with_library().also_preload(&preloadable("faults"));
    for hints in hints {
        let hints = format!("trib_write_behind=4M; {hints}");
        let outcome = with.clone().hints(&hints).env("TRIB_TEST_FAULT", fault).run();
        prints_ok(&outcome, &format!("{source}, {fault}, {hints}"));
    }
}

/// Slow: 4 runs of 5 seconds.
#[test]
fn the_end_of_the_file_is_that_of_completed_calls() {
    is_ok_behind("behind_end.c", "slow:-1:0", &["", HOSTS, ALONE, MESSAGES]);
}
