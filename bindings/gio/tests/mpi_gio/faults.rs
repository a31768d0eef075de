//! Tests failures of calls that the library makes on one rank: of MPI, of the allocator, of the file system. Every
//! rank gets the same code, or the job ends with a message. No rank hangs.

use std::path::PathBuf;
use std::sync::LazyLock;

use tributary_testing::failing_calls;
use tributary_testing::fault_sweep::{ProgramResult, run_linked};

use crate::linked::{Link, compile};

fn small(way: &str, fault: &str) -> ProgramResult {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile("small.c", &Link::Shared));
    run_linked(&PROGRAM, way, fault)
}

failing_calls!(small, io: "GIO_EFILE", space: "GIO_ENO_SPACE");
