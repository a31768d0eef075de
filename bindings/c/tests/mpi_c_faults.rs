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
