//! Tests files on DAOS, which MPI keeps: it may have a driver of its own. `testing/c/dfuse.c` stands in for dfuse.

use crate::common::launch::Launch;
use crate::common::programs::{compile, preloadable};
use crate::common::report::accelerated;

const RANKS: usize = 3;

/// Returns a run that writes the file `name`, with the stand-in.
fn launch(name: &str) -> Launch {
    let program = Launch::new(RANKS, &compile("small_in.c")).arg(name);
    program.with_library().also_preload(&preloadable("dfuse"))
}

#[test]
fn mpi_keeps_a_file_on_daos() {
    for (what, variable) in [("dfuse", "TRIB_TEST_NOTHING"), ("libpil4dfs", "TRIB_TEST_PIL4DFS")] {
        let outcome = launch("dfuse/file").env(variable, "1").run();
        assert!(outcome.stdout.contains("ok"), "{what}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(accelerated(&outcome.reports, "write_at_all"), 0, "{what}: {}", outcome.stderr);
        let [report] = &outcome.reports[..] else { panic!("{what}: {}", outcome.stderr) };
        let why = report.not_taken.as_deref();
        let due = "it is on DAOS, for which MPI may have a driver; trib_driver=posix takes it";
        assert_eq!(why, Some(due), "{what}: {}", outcome.stderr);
    }
}

#[test]
fn a_driver_takes_it() {
    let outcome = launch("dfuse/file").hints("trib_driver=posix").run();
    assert!(outcome.stdout.contains("ok"), "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(accelerated(&outcome.reports, "write_at_all"), 1, "{}", outcome.stderr);
}

#[test]
fn a_file_beside_the_mount_is_taken() {
    let outcome = launch("other/file").run();
    assert_eq!(accelerated(&outcome.reports, "write_at_all"), 1, "{}", outcome.stderr);
}
