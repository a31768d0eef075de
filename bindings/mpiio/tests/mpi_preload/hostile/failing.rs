//! Tests failures of calls that this library makes on one rank: of MPI, of the allocator, of the file system. Every
//! rank gets the same error, or the job ends with a message. No rank hangs.

use tributary_testing::fault_sweep::{BEHIND, Heard, ProgramResult, RANKS, Small, WAYS};

use crate::common::launch::{Launch, is_component};
use crate::common::programs::{compile, preloadable};

/// Runs `small.c` with a fault and the hints `way`.
pub fn small(way: &str, fault: &str) -> ProgramResult {
    let launch =
        Launch::new(RANKS, &compile("small.c")).arg("small").with_library().also_preload(&preloadable("faults"));
    let mut outcome = launch.hints(way).env("TRIB_TEST_FAULT", fault).seconds(30).try_run();
    let file = outcome.files.remove("small").unwrap_or_default();
    ProgramResult { success: outcome.status.success(), stdout: outcome.stdout, stderr: outcome.stderr, file }
}

#[test]
fn every_call_of_mpi_fails_once() {
    Small(&small).sweep("mpi", &WAYS, 12);
}

/// The next call, or the sync, returns the error of a buffered write; no later call writes these bytes then.
#[test]
fn writes_left_behind_fail_on_one_rank() {
    Small(&small).sweep("memory", &BEHIND, 2);
    Small(&small).sweep("mpi", &BEHIND, 3);
    let due = ["wait", "write_all", "end", "sync"].map(|call| format!("{call}: ERR_NO_SPACE"));
    let mut due: Vec<&str> = due.iter().map(String::as_str).collect();
    due.push("read_at_all: SUCCESS, other bytes");
    Small(&small).fails_with("space", &BEHIND, 3, &due, Heard::Always);
}

#[test]
fn requests_for_memory_fail() {
    Small(&small).sweep("memory", &WAYS, 6);
}

/// The call in which a sync fails reports the error on all ranks.
#[test]
fn storing_fails_on_one_rank() {
    Small(&small).fails_with("sync", &WAYS, u64::MAX, &["sync: ERR_IO"], Heard::Always);
}

/// A close may fail without an error if nothing was written through its descriptor.
#[test]
fn closing_fails_on_one_rank() {
    // Open MPI returns success from MPI_File_close whatever a component returns: a line tells of the error.
    if is_component() {
        let ended = small(WAYS[0], "close:-1:1");
        let lines =
            ended.stderr.lines().filter(|line| line.contains("MPI_File_close: rank") && line.contains("os error 5"));
        assert_eq!(lines.count(), 1, "{}", ended.stderr);
        return;
    }
    Small(&small).fails_with("close", &WAYS, u64::MAX, &["close: ERR_IO"], Heard::Sometimes);
}

/// A rank has no memory: the aggregator for its windows and their messages, another rank for the messages that it sends.
#[test]
fn a_rank_has_no_memory() {
    (0..2).for_each(no_memory);
}

fn no_memory(poor: usize) {
    let hints = "trib_shared_memory=disable; cb_nodes=1; cb_buffer_size=16777216; romio_cb_write=enable";
    let launch = Launch::new(RANKS, &compile("memory.c")).arg("memory").arg(poor.to_string());
    let outcome = launch.with_library().hints(hints).seconds(30).run();
    let due = "small: SUCCESS\nwithout memory: ERR_NO_MEM\nwith memory: SUCCESS\nclose: SUCCESS\n";
    let all: String = (0..RANKS).map(|rank| format!("rank {rank}\n{due}")).collect();
    assert_eq!(outcome.stdout, all, "{}", outcome.stderr);
}
