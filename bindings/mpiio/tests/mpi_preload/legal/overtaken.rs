//! Tests collective calls that MPI runs between calls of the library: no rank's next call overtakes another rank's part of
//! such a call. One rank's part is slow.

use super::{HOSTS, prints_ok};
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, is_component};
use crate::common::programs::{compile, preloadable};

/// Hints that make ranks of one host exchange messages, as ranks of hosts of their own.
const MESSAGES: &str = "trib_ranks_per_node=1";
/// The case of the file on NFS, where ROMIO truncates on every rank.
const NFS: &str = "nfs/small";

/// Runs the program with what makes the calls of rank `slow` slow: on one host, as on several, and by messages only; under
/// Open MPI also with its ROMIO.
///
/// # Panics
/// Panics if a run does not print `ok`.
fn is_ok(path: &str, case: &str, slow: usize) {
    let launch = Launch::new(3, &compile("legal/overtaken.c")).arg(path).arg(case);
    let launch = launch.env("TRIB_TEST_FAULT", format!("slow:{slow}:0")).with_library();
    let launch = launch.also_preload(&preloadable("nfs")).also_preload(&preloadable("faults"));
    for hints in ["", HOSTS, MESSAGES] {
        prints_ok(&launch.clone().hints(hints).run(), &format!("{case}, {hints}"));
    }
    // Debian's ROMIO in Open MPI crashes in MPI_File_iwrite_at_all.
    if ours() == Family::OpenMpi && !is_component() && case != "ihole" {
        prints_ok(&launch.env("OMPI_MCA_io", "romio321").run(), &format!("{case}, with ROMIO"));
    }
}

#[test]
fn a_truncation() {
    for slow in [0, 1] {
        is_ok(NFS, "size", slow);
    }
}

#[test]
fn a_write_that_reads_gaps_and_writes_them_back() {
    for case in ["hole", "ihole", "atomic"] {
        is_ok("small", case, 1);
    }
}

#[test]
fn an_ordered_write_of_own_bytes() {
    is_ok("small", "own", 0);
}

#[test]
fn a_deletion_on_close() {
    is_ok("small", "delete", 0);
}
