//! Tests processes that signals interrupt, that have children, and that are stopped or killed between their calls.

use tributary_testing::fault_sweep::{BEHIND, written};

use crate::common::launch::Launch;
use crate::common::matrix::{Setting, same_as_without};
use crate::common::programs::{compile, preloadable};

const RANKS: usize = 3;

fn launch(source: &str) -> Launch {
    Launch::new(RANKS, &compile(source)).seconds(40)
}

/// Returns one setting only: the tests do not depend on the kernel.
fn settings() -> Vec<Setting> {
    Setting::few().into_iter().take(1).collect()
}

#[test]
fn a_signal_every_200_microseconds() {
    same_as_without(&launch("signals.c"), &settings(), &["write_all", "read_at_all", "iwrite_at_all"]);
}

#[test]
fn children_that_end_while_a_file_is_open() {
    for end in ["_exit", "exit"] {
        same_as_without(&launch("fork.c").arg(end), &settings(), &["write_all", "read_at_all"]);
    }
}

#[test]
fn a_rank_is_stopped_for_a_second() {
    same_as_without(&launch("stopped.c").arg("stop"), &settings(), &["write_all", "read_at_all"]);
}

#[test]
fn a_rank_is_killed() {
    let launch = launch("stopped.c").arg("kill");
    for (what, launch) in [("without", launch.clone()), ("with", launch.with_library())] {
        let outcome = launch.try_run();
        assert!(!outcome.status.success(), "{what}: {}{}", outcome.stdout, outcome.stderr);
        assert!(!outcome.stdout.contains("rank "), "{what}: a rank got to its end\n{}", outcome.stdout);
    }
}

/// Runs `unclosed.c`, whose writes leave their bytes behind, with a fault.
fn unclosed(ranks: usize, end: &str, way: &str, fault: &str) -> Launch {
    let launch = Launch::new(ranks, &compile("unclosed.c")).arg(end).with_library();
    launch.also_preload(&preloadable("faults")).hints(way).env("TRIB_TEST_FAULT", fault).seconds(40)
}

/// What a program has written collectively is in its file, also if the program does not close it, and if a child ends
/// while bytes are buffered.
#[test]
fn a_file_that_is_not_closed_is_complete() {
    for way in BEHIND {
        for end in ["finalize", "fork"] {
            let outcome = unclosed(RANKS, end, way, "slow:-1:0").run();
            assert!(outcome.files["small"] == written(), "{end}, `{way}`");
        }
        // Launchers end the other ranks when one exits without MPI_Finalize.
        let outcome = unclosed(1, "exit", way, "slow:-1:0").try_run();
        let bytes: Vec<u8> = (0..500).flat_map(|at: i32| (1 + 1000 * at).to_ne_bytes()).collect();
        assert!(outcome.files["small"] == bytes, "exit, `{way}`");
    }
}

#[test]
fn an_error_that_no_call_returns_is_printed() {
    for way in BEHIND {
        let outcome = unclosed(RANKS, "finalize", way, "space:-1:1").run();
        let line = outcome
            .stderr
            .lines()
            .find(|line| line.contains("deferred write (MPI_File_write_all, collective write 1)"));
        let is_told = line.is_some_and(|line| line.contains("No space left") && line.contains("no call has returned"));
        assert!(is_told, "`{way}`: {}", outcome.stderr);
    }
}
