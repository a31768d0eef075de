//! Tests failures of calls that the C API makes on one rank: of MPI, of the allocator, of the file system. Every rank
//! gets the same status, or the job ends with a message. No rank waits for ever.

use std::path::PathBuf;
use std::sync::LazyLock;

use tributary_testing::failing_calls;
use tributary_testing::fault_sweep::{ProgramResult, run_linked};
use tributary_testing::installed::{Link, compile, crate_directory};

fn small(way: &str, fault: &str) -> ProgramResult {
    static PROGRAM: LazyLock<PathBuf> =
        LazyLock::new(|| compile(&crate_directory().join("tests/programs/small.c"), Link::Shared));
    run_linked(&PROGRAM, way, fault)
}

failing_calls!(small, io: "input/output error", space: "no space left on the file system");

/// What a program has written is in the file, also if the program ends without closing it.
#[test]
fn a_file_that_is_not_closed_is_complete() {
    let program = compile(&crate_directory().join("tests/programs/unclosed.c"), Link::Shared);
    for way in tributary_testing::fault_sweep::BEHIND {
        let ended = run_linked(&program, way, "slow:-1:0");
        assert!(ended.success && ended.file == tributary_testing::fault_sweep::written(), "`{way}`: {}", ended.stderr);
    }
}
