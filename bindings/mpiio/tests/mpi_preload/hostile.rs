//! Calls of this library's that fail on one rank: of MPI, for memory, of the file system. Every rank gets the same error, or
//! the job ends, and says why. None waits for ever.

use crate::common::launch::{Launch, Outcome};
use crate::common::matrix::{Setting, same_as_without};
use crate::common::programs::{Build, compile};

const RANKS: usize = 3;
/// By messages, to two aggregators, in several rounds; and in memory that the ranks share.
const WAYS: [&str; 2] = [
    "trib_shared_memory=disable; cb_nodes=2; cb_buffer_size=4096; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable",
    "",
];

/// `small.c` with a fault, under the hints `way`.
fn small(way: &str, kind: &str, rank: usize, call: u64) -> Outcome {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    static FAULTS: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    let faults = FAULTS.get_or_init(|| Build { options, ..Build::default() }.compile("faults.c"));
    let launch = Launch::new(RANKS, &compile("small.c")).arg("small").with_library().also_preload(faults);
    launch.hints(way).env("TRIB_TEST_FAULT", format!("{kind}:{rank}:{call}")).seconds(30).try_run()
}

/// How many calls of a kind a rank makes.
fn calls(way: &str, kind: &str, rank: usize) -> u64 {
    let outcome = small(way, kind, rank, 0);
    check(&outcome, &format!("{kind} on {rank}, no fault"));
    let said = outcome.stderr.lines().find_map(|line| line.strip_prefix("faults: ")?.strip_suffix(" calls"));
    let calls = said.and_then(|calls| calls.parse().ok());
    calls.unwrap_or_else(|| panic!("no count of {kind} on rank {rank}\n{}", outcome.stderr))
}

/// All ranks have said the same, or the job has ended with a reason.
fn check(outcome: &Outcome, what: &str) {
    if !outcome.status.success() {
        let why = ["tributary: ", "memory allocation of", "out of memory", "Fatal error in", "MPI_ERRORS_ARE_FATAL"];
        let says = outcome.stderr.lines().any(|line| why.iter().any(|why| line.contains(why)));
        assert!(says, "{what}: the job ended without a reason\n{}{}", outcome.stdout, outcome.stderr);
        return;
    }
    let said: Vec<&str> = outcome.stdout.split("rank ").skip(1).map(|said| said.split_once('\n').unwrap().1).collect();
    assert_eq!(said.len(), RANKS, "{what}\n{}{}", outcome.stdout, outcome.stderr);
    assert!(said.iter().all(|own| *own == said[0]), "{what}: ranks differ\n{}{}", outcome.stdout, outcome.stderr);
    if said[0].contains("write_all: SUCCESS\n") {
        let written = (0..500 * RANKS as i32).flat_map(|at| {
            let (rank, index) = (at % RANKS as i32, at / RANKS as i32);
            (1 + rank + 1000 * index).to_ne_bytes()
        });
        assert!(written.eq(outcome.files["small"].iter().copied()), "{what}: other bytes in the file");
    }
}

/// Lets every call of a kind fail, one in each run: `most` of them, spread evenly, where there are more, or all of them with
/// TRIB_TEST_ALL=1.
fn sweep(kind: &str, ways: &[&str], most: u64) {
    for way in ways {
        for rank in [0, RANKS - 1] {
            let all = calls(way, kind, rank);
            assert!(all > 0, "{kind} on rank {rank}: nothing to fail");
            let most = if std::env::var_os("TRIB_TEST_ALL").is_some() { all } else { most };
            let step = all.div_ceil(most).max(1);
            for call in (1..=all).step_by(step as usize) {
                check(&small(way, kind, rank, call), &format!("{kind} on rank {rank}, call {call} of {all}, `{way}`"));
            }
        }
    }
}

#[test]
fn every_call_of_mpi_fails_once() {
    sweep("mpi", &WAYS, 12);
}

#[test]
fn requests_for_memory_fail() {
    sweep("memory", &WAYS, 6);
}

/// What is not stored is said to all ranks by the call that finds out.
#[test]
fn storing_fails_on_one_rank() {
    for way in WAYS {
        for rank in 0..RANKS {
            let all = calls(way, "sync", rank);
            for call in 1..=all {
                let outcome = small(way, "sync", rank, call);
                check(&outcome, &format!("sync on rank {rank}, call {call} of {all}, `{way}`"));
                assert!(outcome.stdout.contains("sync: ERR_IO"), "{}{}", outcome.stdout, outcome.stderr);
            }
        }
    }
}

#[test]
fn closing_fails_on_one_rank() {
    for way in WAYS {
        for rank in 0..RANKS {
            let all = calls(way, "close", rank);
            for call in 1..=all {
                let what = format!("close on rank {rank}, call {call} of {all}, `{way}`");
                check(&small(way, "close", rank, call), &what);
            }
        }
    }
}

/// Memory that an aggregator needs for its windows and their messages.
#[test]
fn an_aggregator_has_no_memory() {
    let hints = "trib_shared_memory=disable; cb_nodes=1; cb_buffer_size=16777216; romio_cb_write=enable";
    let outcome = Launch::new(RANKS, &compile("memory.c")).arg("memory").with_library().hints(hints).seconds(30).run();
    let due = "small: SUCCESS\nwithout memory: ERR_NO_MEM\nwith memory: SUCCESS\nclose: SUCCESS\n";
    let all: String = (0..RANKS).map(|rank| format!("rank {rank}\n{due}")).collect();
    assert_eq!(outcome.stdout, all, "{}", outcome.stderr);
}

/// A rank that moves no bytes needs no place in the file: ROMIO tells one before its beginning with some datatype engines.
#[test]
fn a_rank_whose_view_holds_nothing() {
    let launch = Launch::new(RANKS, &compile("nothing.c")).arg("nothing");
    same_as_without(&launch, &Setting::few(), &["write_all", "read_all"]);
}
