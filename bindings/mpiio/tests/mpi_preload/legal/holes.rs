//! Tests holes of a collective write that other processes write at the same time: no byte of them is lost.

use tributary_testing::fault_sweep::most_tried;

use super::is_ok;

/// Hint with which data sieving would write the holes.
const FILLED: &str = "romio_ds_write=enable";
/// Hints with which data sieving would write the holes, in windows that go to aggregators by messages.
const FILLED_BY_MESSAGES: &str = "romio_ds_write=enable; trib_shared_memory=disable";

/// Number of rounds of a run, each a race of its own: usually, and with TRIB_TEST_ALL=1.
fn rounds(usual: u64, all: u64) -> String {
    most_tried(usual).min(all).to_string()
}

/// Slow: 16 runs.
#[test]
fn of_a_call_in_flight() {
    let rounds = rounds(10, 30);
    for threads in ["single", "multiple"] {
        for how in ["iwrite", "split"] {
            is_ok("holes_inflight.c", 4, &[&rounds, "100", "20", threads, how], &[FILLED, FILLED_BY_MESSAGES]);
        }
    }
}

/// Ranks without bytes return before the others, and then write into the holes.
#[test]
fn of_a_blocking_call() {
    is_ok("holes_inflight.c", 4, &[&rounds(10, 30), "100", "20", "single", "blocking"], &[FILLED, FILLED_BY_MESSAGES]);
}

/// Slow: 16 runs.
#[test]
fn through_another_handle_by_a_thread_or_before_it_is_waited_for() {
    for how in ["handles", "comms", "inflight", "threads"] {
        is_ok("holes_beside.c", 4, &[how, &rounds(6, 15)], &[FILLED, FILLED_BY_MESSAGES]);
    }
}
