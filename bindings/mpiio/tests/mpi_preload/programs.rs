//! Tests programs in C, as users write them: with the library preloaded they print the same, and write the same
//! bytes.

use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, is_component};
use crate::common::matrix::{Setting, same, same_as_without, with_library};
use crate::common::programs::compile;
use crate::common::report::passed_through;

const RANKS: usize = 4;

fn launch(source: &str) -> Launch {
    Launch::new(RANKS, &compile(source))
}

/// Tests the program of the tutorial docs/tutorial/drop-in.md.
#[test]
fn the_program_of_the_tutorial() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mpi-io/columns.c");
    same_as_without(&launch(source), &Setting::few(), &["write_all"]);
}

#[test]
fn views_of_every_kind() {
    let calls = ["write_all", "write_at_all", "read_all", "read_at_all"];
    same_as_without(&launch("views.c"), &Setting::all(), &calls);
}

#[test]
fn memory_of_several_arrays() {
    let calls = ["write_all", "write_at_all", "read_all", "read_at_all"];
    same_as_without(&launch("several_arrays.c"), &Setting::few(), &calls);
    // MPICH's own files move other bytes here than its messages; the program says whether this library's do.
    let resized = launch("several_arrays.c").arg("resized");
    match ours() {
        Family::Mpich => with_library(&resized, &Setting::few(), &calls, |_, _| {}),
        Family::OpenMpi => drop(same_as_without(&resized, &Setting::few(), &calls)),
    }
}

#[test]
fn btio_with_ghost_cells() {
    same_as_without(&launch("btio.c"), &Setting::few(), &["write_all", "read_all"]);
}

#[test]
fn ior_by_offsets_and_by_view() {
    let calls = ["write_at_all", "read_at_all", "write_all", "read_all"];
    same_as_without(&launch("ior.c"), &Setting::few(), &calls);
}

#[test]
fn requests_complete_in_every_way() {
    let calls = ["iwrite_all", "iwrite_at_all", "iread_all", "iread_at_all"];
    same_as_without(&launch("requests.c"), &Setting::all(), &calls);
    with_library(&launch("requests.c").arg("two at once"), &[], &calls, |outcome, what| {
        assert_eq!(outcome.stdout.matches("two at once: 8000 and 8000 bytes").count(), RANKS, "{what}");
    });
}

#[test]
fn calls_in_two_halves() {
    let calls = ["write_all_begin", "write_at_all_begin", "read_all_begin", "read_at_all_begin"];
    same_as_without(&launch("split.c"), &Setting::few(), &calls);
}

/// Calls that are started do not wait for other ranks. There is no comparison with MPI alone: ROMIO and OMPIO wait
/// for ever here, or mix up two calls at once.
#[test]
fn calls_in_flight_wait_for_nobody() {
    let calls = ["iwrite_at_all", "write_all_begin", "write_at_all"];
    with_library(&launch("nonblocking.c"), &Setting::few(), &calls, |outcome, what| {
        assert_eq!(outcome.stdout.matches(": right\n").count(), 11 * RANKS, "{what}\n{}", outcome.stdout);
        let passed = ["iwrite_all", "iwrite_at_all", "write_at_all_begin"];
        assert!(passed.iter().all(|call| passed_through(&outcome.reports, call) == 1), "{what}: {:?}", outcome.reports);
    });
}

/// With MPI_THREAD_MULTIPLE a call in flight goes on while its rank computes.
#[test]
fn calls_in_flight_go_on_while_a_rank_computes() {
    let launch = launch("nonblocking.c").arg("threads");
    with_library(&launch, &Setting::few(), &["iwrite_at_all"], |outcome, what| {
        assert_eq!(outcome.stdout.matches("computing: right\n").count(), RANKS, "{what}\n{}", outcome.stdout);
    });
}

#[test]
fn ways_to_open_and_calls_that_pass_through() {
    same_as_without(&launch("modes.c"), &Setting::few(), &["write_all", "write_at_all", "read_all"]);
    with_library(&launch("modes.c"), &[], &["write_all"], |outcome, _| {
        for call in ["write_ordered", "read_ordered", "write", "write_at", "read", "read_at_all"] {
            assert_ne!(passed_through(&outcome.reports, call), 0, "{call}: {:#?}", outcome.reports);
        }
    });
}

#[test]
fn a_view_of_another_representation_passes_through() {
    same_as_without(&launch("external.c"), &Setting::few(), &["write_all", "read_at_all"]);
    with_library(&launch("external.c"), &[], &["write_all"], |outcome, _| {
        for call in ["write_all", "read_at_all"] {
            assert_eq!(passed_through(&outcome.reports, call), 1, "{call}: {:#?}", outcome.reports);
        }
    });
}

#[test]
fn misuse_is_told_as_by_mpi() {
    same_as_without(&launch("misuse.c"), &Setting::few(), &["write_at_all", "read_at_all"]);
}

/// There is no comparison with MPI alone: without the library the other ranks wait for ever.
#[test]
fn a_datatype_that_one_rank_has_not_committed_fails_on_all() {
    // Open MPI checks arguments on each rank before it calls a component, and the other ranks wait as with Open MPI alone.
    if is_component() {
        return;
    }
    let calls = ["write_at_all", "read_at_all"];
    with_library(&launch("misuse.c").arg("one"), &Setting::few(), &calls, |outcome, what| {
        let count = |ending: &str| outcome.stdout.lines().filter(|line| line.ends_with(ending)).count();
        assert_eq!(count(": ERR_TYPE"), 4 * RANKS, "{what}\n{}\n{}", outcome.stdout, outcome.stderr);
        assert_eq!(count(", committed: SUCCESS"), 2 * RANKS, "{what}\n{}", outcome.stdout);
        let said = "datatype: one that is not committed; allowed: a committed datatype";
        assert!(outcome.stderr.contains(said), "{what}\n{}", outcome.stderr);
    });
}

/// MPICH alone hangs here: a thread waits inside one file for the lock that the other thread holds. So without the
/// library the threads run one after the other.
#[test]
fn two_threads_with_a_file_each() {
    let plain = launch("threads.c").arg("in turn").run();
    with_library(
        &launch("threads.c").arg("multiple"),
        &Setting::few(),
        &["write_at_all", "read_at_all"],
        |outcome, what| {
            same(outcome, &plain, what);
        },
    );
}

/// Other threads than the one that opened a file may use and close it, and other threads may compute beside it.
#[test]
fn levels_of_threads_below_multiple() {
    for level in ["serialized", "funneled"] {
        same_as_without(&launch("threads.c").arg(level), &Setting::few()[..1], &["write_at_all", "read_at_all"]);
    }
}

/// A status has the number of bytes that were read. (MPI libraries differ here.)
#[test]
fn a_status_tells_what_was_read() {
    with_library(&launch("eof.c"), &Setting::few(), &["write_at_all", "read_at_all"], |outcome, what| {
        let told: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("half")).collect();
        let full = "half behind the end: 4000 bytes";
        assert_eq!(told, [full, full, full, "half behind the end: 2000 bytes"], "{what}");
        assert_eq!(outcome.stdout.matches("all behind the end: 0 bytes").count(), RANKS, "{what}");
    });
}
