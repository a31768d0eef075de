//! Tests files on NFS without any variable set: independent calls go through the library's own handle, and HDF5 is told that
//! their bytes are visible at once. `testing/c/nfs.c` stands in for NFS: MPI's own driver for it is the one that runs.

use tributary_testing::wheels::Wheel;

use crate::abis::{compiled, under};
use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, Outcome};
use crate::common::programs::{compile, preloadable};

const RANKS: usize = 3;
/// Number of independent calls of each rank outside atomic mode: four in each of five rounds, one after a collective call,
/// and one at the end of the file.
const CALLS: u64 = 4 * 5 + 2;

/// Returns a run that writes the file `name`, with the stand-in.
fn launch(name: &str) -> Launch {
    Launch::new(RANKS, &compile("alone_on_nfs.c")).arg(name).also_preload(&preloadable("nfs"))
}

fn is_ok(outcome: &Outcome) {
    assert!(outcome.stdout.ends_with("ok\n"), "{}{}", outcome.stdout, outcome.stderr);
}

fn past_cache(outcome: &Outcome) -> Vec<u64> {
    outcome.reports.iter().map(|report| report.past_cache).collect()
}

#[test]
fn independent_calls_take_no_locks() {
    if ours() != Family::Mpich {
        return;
    }
    let with = launch("nfs/file").with_library().run();
    is_ok(&with);
    assert_eq!(past_cache(&with), [CALLS * RANKS as u64], "{}", with.stderr);
    assert_eq!(with.reports[0].driver.as_deref(), Some("nfs"));
    // One handle of each rank. (The engine's handles are on one host, which needs no direct ones.)
    assert_eq!(with.stderr.matches("nfs: direct").count(), RANKS, "{}", with.stderr);
    // The round in atomic mode is MPI's, with a lock for each of its four calls at most twice.
    let locks = |outcome: &Outcome| outcome.stderr.matches("nfs: lock").count();
    let without = launch("nfs/file").run();
    is_ok(&without);
    assert!(locks(&without) > 4 * locks(&with), "{} without the library, {} with it", locks(&without), locks(&with));
    assert!(with.files == without.files, "another file than without the library");
}

#[test]
fn a_file_that_is_not_on_nfs_is_left_to_mpi() {
    let outcome = launch("other/file").with_library().try_run();
    if ours() == Family::Mpich {
        is_ok(&outcome);
    }
    assert_eq!(past_cache(&outcome), [0], "{}", outcome.stderr);
}

/// Data sieving of MPI would write back old bytes between those of a call, which others write without locks.
#[test]
fn a_program_that_wants_sieving_is_left_to_mpi() {
    if ours() != Family::Mpich {
        return;
    }
    let outcome = launch("nfs/file").with_library().hints("romio_ds_write=enable").run();
    is_ok(&outcome);
    assert_eq!(past_cache(&outcome), [0], "{}", outcome.stderr);
}

/// MPICH 5 says on NFS that bytes are not visible at once, and HDF5 refuses independent writes.
#[test]
fn hdf5_is_told_that_bytes_are_visible() {
    let Some(wheel) = Wheel::mpich() else { return };
    let program = compiled(&wheel, "mpicc", "alone_on_nfs.c", "alone_on_nfs.mpich5");
    let launch = under(&wheel, &program, RANKS).arg("nfs/file").also_preload(&preloadable("nfs"));
    let answers = |outcome: &Outcome| {
        let said = outcome.stdout.lines().filter(|line| line.starts_with("visible") || line.starts_with("atomic"));
        said.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(answers(&launch.run()), ["visible: false", "atomic: false"]);
    let with = launch.clone().with_library().run();
    is_ok(&with);
    assert_eq!(answers(&with), ["visible: true", "atomic: false"], "{}", with.stderr);
    assert_eq!(past_cache(&with), [CALLS * RANKS as u64], "{}", with.stderr);
    let sieving = launch.with_library().hints("romio_ds_write=enable").run();
    assert_eq!(answers(&sieving), ["visible: false", "atomic: false"], "{}", sieving.stderr);
}

/// A collective write gives its bytes to the server, and closes no descriptor of the file: that would drop the locks that
/// this process has, also ROMIO's in another thread.
#[test]
fn collective_writes_keep_the_locks_of_the_process() {
    for hints in ["trib_ranks_per_node=1", "trib_ranks_per_node=1; trib_shared_memory=disable; romio_cb_write=enable"] {
        let launch = Launch::new(RANKS, &compile("nfs_locks.c")).arg("nfs/file").also_preload(&preloadable("nfs"));
        let outcome = launch.with_library().hints(hints).run();
        let calls: String = (1..4).map(|call| format!("call {call}: locked\n")).collect();
        let all: String = (0..RANKS).map(|rank| format!("rank {rank}\n{calls}")).collect();
        assert_eq!(outcome.stdout, all, "{}", outcome.stderr);
        assert_eq!(outcome.reports[0].driver.as_deref(), Some("nfs"));
    }
}
