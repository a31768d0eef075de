//! Tests a rank that waits outside MPI while one of its calls is in flight. On one host the call goes on; if ranks
//! exchange messages it cannot, and two lines say so.

use super::{launch, prints_ok};
use crate::common::family::{Family, ours};

#[test]
fn a_call_goes_on_while_its_rank_waits_elsewhere() {
    for how in ["iwrite-barrier", "iwrite-recv", "split-recv"] {
        for ranks in [2, 4] {
            prints_ok(&launch("progress.c", ranks, &[how]).with_library().run(), how);
        }
    }
}

#[test]
fn a_call_that_cannot_go_on_says_so() {
    let hints = "trib_stall_timeout=1; trib_shared_memory=disable";
    let outcome = launch("elsewhere.c", 3, &["4"]).with_library().hints(hints).run();
    prints_ok(&outcome, hints);
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("MPI_File_iwrite_at_all of ")).collect();
    let elsewhere = |line: &&&str| line.contains("rank 0 started") && line.contains("MPI_THREAD_MULTIPLE");
    let waits = |line: &&&str| line.contains("in flight, which has made no progress for 1 s: it waits for");
    assert_eq!(lines.iter().filter(elsewhere).count(), 1, "{}", outcome.stderr);
    // One a host.
    assert!(lines.iter().any(|line| waits(&line)), "{}", outcome.stderr);
    let alone = lines.iter().any(|line| line.ends_with("completes such a call in its start"));
    assert_eq!(alone, ours() == Family::OpenMpi, "{}", outcome.stderr);
}
