//! Tests processes that signals interrupt, that have children, and that are stopped or killed between their calls.

use crate::common::launch::Launch;
use crate::common::matrix::{Setting, same_as_without};
use crate::common::programs::compile;

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
