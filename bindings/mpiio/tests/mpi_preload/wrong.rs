//! Tests the programs of `examples/wrong`, which MPI alone gets wrong on some MPI library (`docs/wrong.md`): with the library they are right.

use crate::common::family::{Family, ours};
use crate::common::launch::Launch;
use crate::common::programs::compile;

/// The programs, except for `over_2_gib.c`, which writes 2 GiB.
const SOURCES: [&str; 9] = [
    "count_at_end.c",
    "darray.c",
    "freed_type.c",
    "gaps.c",
    "lower_bound.c",
    "memory_bound.c",
    "nested.c",
    "repeated.c",
    "testsome.f90",
];

/// Hints: the default; ranks as of several hosts, by shared memory and by messages; write-behind.
const HINTS: [&str; 4] = [
    "",
    "trib_shared_memory=enable; trib_ranks_per_node=2",
    "trib_shared_memory=disable; trib_tiny_call=0; romio_cb_write=enable; romio_cb_read=enable",
    "trib_write_behind=4M",
];

/// Returns true if the fault is not in calls that the library runs: Open MPI refuses the view of `repeated.c` before it calls a component,
/// and the module `mpi_f08` of MPICH 4.0 counts the indices of `testsome.f90` from 0.
fn is_left_to_mpi(source: &str) -> bool {
    source == if ours() == Family::OpenMpi { "repeated.c" } else { "testsome.f90" }
}

#[test]
fn programs_that_mpi_alone_gets_wrong_are_right() {
    for source in SOURCES {
        let path = format!("{}/../../examples/wrong/{source}", env!("CARGO_MANIFEST_DIR"));
        let ranks = if source == "darray.c" { 4 } else { 2 };
        let launch = Launch::new(ranks, &compile(&path)).arg("file").with_library();
        for hints in HINTS {
            let outcome = launch.clone().hints(hints).try_run();
            let is_right = outcome.status.success() && outcome.stdout.trim() == "right";
            assert!(is_right || is_left_to_mpi(source), "{source}, `{hints}`:\n{}{}", outcome.stdout, outcome.stderr);
        }
    }
}
