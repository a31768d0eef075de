//! Calls that the library makes fail on one rank: of MPI, of the allocator, of the file system. Every rank gets the same code,
//! or the job ends with a message. No rank hangs.

use std::path::PathBuf;
use std::sync::LazyLock;

use tributary_testing::sweep::{Ended, Heard, Small, WAYS, run_linked, written};

use crate::linked::{Link, compile};

fn small(way: &str, fault: &str) -> Ended {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile("small.c", &Link::Shared));
    run_linked(&PROGRAM, way, fault)
}

#[test]
fn every_call_of_mpi_fails_once() {
    Small(&small).sweep("mpi", &WAYS, 5);
}

#[test]
fn requests_for_memory_fail() {
    Small(&small).sweep("memory", &WAYS, 3);
}

#[test]
fn storing_fails_on_one_rank() {
    Small(&small).fails_with("sync", &WAYS, 1, &["sync: GIO_EFILE"], Heard::Always);
}

/// An error need not be reported for a descriptor through which nothing was written.
#[test]
fn closing_fails_on_one_rank() {
    Small(&small).fails_with("close", &WAYS[..1], u64::MAX, &["close: GIO_EFILE"], Heard::Sometimes);
}

#[test]
fn writes_and_reads_fail_on_one_rank() {
    for (kind, due) in
        [("space", &["write_all: GIO_ENO_SPACE", "again: GIO_ENO_SPACE"][..]), ("read", &["read_all: GIO_EFILE"])]
    {
        Small(&small).fails_with(kind, &WAYS, 1, due, Heard::Always);
    }
}

#[test]
fn short_and_interrupted_calls_are_made_again() {
    for fault in ["short:-1:1", "interrupted:-1:2"] {
        let ended = small(WAYS[0], fault);
        assert_eq!(ended.failed(fault), [""; 0]);
        assert!(ended.file == written(), "{fault}: other bytes in the file");
    }
}
