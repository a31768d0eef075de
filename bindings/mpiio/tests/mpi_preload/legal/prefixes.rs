//! Tests file names with the prefix of a file system: MPI accepts or refuses them, and the library does the same.

use super::{FILE, launch, prints_ok};
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, Outcome, is_component};
use crate::common::report::accelerated;

fn prefixed(prefix: &str, want: &str) -> Launch {
    launch("prefix.c", 2, &[prefix, want])
}

/// Returns true if MPI alone opens a file with this prefix. Checks that the result with the library is the same.
fn same_with_library(prefix: &str) -> (bool, Outcome) {
    let said = |outcome: &Outcome| outcome.stdout.lines().any(|line| line.ends_with(": success"));
    let without = prefixed(prefix, "expect-ok").try_run();
    let with = prefixed(prefix, "expect-ok").with_library().try_run();
    assert_eq!(said(&with), said(&without), "{prefix}\n{}{}", with.stdout, with.stderr);
    assert_eq!(with.files, without.files, "{prefix}: files");
    (said(&with), with)
}

#[test]
fn mpi_takes_or_refuses_a_prefix() {
    let all = [
        "ufs", "nfs", "xfs", "pvfs2", "gpfs", "panfs", "lustre", "daos", "ime", "quobyte", "piofs", "pfs", "gridftp",
        "Ufs", "DAOS",
    ];
    for kind in all {
        let (is_open, outcome) = same_with_library(&format!("{kind}:"));
        match ours() {
            // Only the drivers that Debian builds in.
            Family::Mpich => assert_eq!(is_open, ["ufs", "nfs", "Ufs"].contains(&kind), "{kind}"),
            // OMPIO takes the prefix for a part of the name.
            Family::OpenMpi => assert!(is_open && outcome.files.contains_key(&format!("{kind}:{FILE}")), "{kind}"),
        }
        let ran = accelerated(&outcome.reports, "write_at_all");
        assert_eq!(ran, u64::from(is_open), "{kind}: {}", outcome.stderr);
    }
}

/// The prefix `testfs:` stands for MPICH's driver for tests, which writes no file.
#[test]
fn what_is_not_a_file_is_left_to_mpi() {
    if ours() == Family::OpenMpi {
        return;
    }
    for prefix in ["testfs:", "TestFS:"] {
        let outcome = prefixed(prefix, "expect-ok").with_library().run();
        prints_ok(&outcome, prefix);
        assert!(outcome.stderr.contains("testfs: does not name a file of the operating system"), "{}", outcome.stderr);
        assert!(outcome.files.is_empty(), "{:?}", outcome.files.keys());
    }
}

/// Open MPI's ROMIO takes the prefix for a file system, its OMPIO takes it for a part of the name.
#[test]
fn open_mpi_has_two_ways() {
    // The component stands in front of OMPIO only.
    if ours() == Family::Mpich || is_component() {
        return;
    }
    let all = [
        ("ufs:", "expect-ok"),
        ("UFS:", "expect-ok"),
        ("Ufs:", "expect-error"),
        ("pvfs2:", "expect-error"),
        ("lustre:", "expect-error"),
        ("LUSTRE:", "expect-error"),
    ];
    for (prefix, want) in all {
        let outcome = prefixed(prefix, want).env("OMPI_MCA_io", "romio321").with_library().run();
        prints_ok(&outcome, prefix);
        assert_eq!(accelerated(&outcome.reports, "write_at_all"), u64::from(want == "expect-ok"), "{}", outcome.stderr);
    }
}
