//! Tests programs that use up communicators or file descriptors.

use super::{is_ok, launch, prints_ok};
use crate::common::family::{Family, ours};

/// Maximum number of files that MPICH 4.0.2 can have open at once (2,045: each has one of its communicators), less
/// one for the library's communicator. Open MPI has no such limit.
const FILES: &str = "2044";

#[test]
fn as_many_files_are_open_as_without_the_library() {
    let files = if ours() == Family::Mpich { FILES } else { "500" };
    for on in ["world", "dup", "self"] {
        let outcome = launch("manyopen.c", 2, &[files, on]).with_library().run();
        prints_ok(&outcome, on);
        assert_eq!(outcome.stderr.matches(", and maybe of other files: ").count(), 1, "{}", outcome.stderr);
        let taken = outcome.reports.iter().filter(|report| report.driver.is_some()).count();
        assert!(taken >= 1 && taken < outcome.reports.len(), "{taken} of {}", outcome.reports.len());
    }
}

#[test]
fn a_program_without_descriptors_goes_on() {
    for when in ["first", "later", "one"] {
        is_ok("descriptors.c", 4, &[when], &["trib_shared_memory=disable"]);
    }
}
