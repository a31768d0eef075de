//! Tests names of files that need care, tools that are preloaded too, and launchers that do not belong to the
//! program's MPI.

use crate::common::family::{Family, ours};
use crate::common::launch::{Launch, is_component};
use crate::common::programs::{Build, compile};
use crate::common::report::{accelerated, passed_through};

const RANKS: usize = 2;
const COLONS: &str = "history.2023-03-10_15:00:00.nc";

/// ROMIO takes the text before a colon for a file system: without the library this fails on MPICH.
#[test]
fn names_may_have_colons() {
    let program = Launch::new(RANKS, &compile("names.c")).arg(COLONS).arg("a:b");
    let with = program.clone().with_library().run();
    assert_eq!(with.reports.len(), 2, "{}", with.stderr);
    assert_eq!(accelerated(&with.reports, "write_at_all") + accelerated(&with.reports, "read_at_all"), 4);
    assert!(with.stderr.contains(COLONS), "the report has the name of the program: {}", with.stderr);
    assert_eq!(program.try_run().status.success(), ours() == Family::OpenMpi, "MPI alone");
}

#[test]
fn logs_of_darshan_are_left_to_mpi() {
    let with = Launch::new(RANKS, &compile("names.c")).arg("user_prog_id7-11-24.darshan_partial").with_library().run();
    let calls = ["write_at_all", "read_at_all"];
    assert_eq!(calls.map(|call| accelerated(&with.reports, call)), [0, 0], "{}", with.stderr);
    assert_eq!(calls.map(|call| passed_through(&with.reports, call)), [1, 1], "{}", with.stderr);
}

/// Darshan in front of this library counts the program's calls; behind this library it counts the calls that are
/// passed on.
#[test]
fn darshan_counts_in_front() {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let counting = Build { name: Some("counting"), options, ..Build::default() }.compile("counting.c");
    let program = Launch::new(RANKS, &compile("names.c")).arg("plain");
    let counted = |launch: Launch| {
        let outcome = launch.run();
        assert_eq!(accelerated(&outcome.reports, "write_at_all"), 1, "{}", outcome.stderr);
        ["1 opens, 1 writes, 1 reads", "1 opens, 0 writes, 0 reads"].map(|all| outcome.stderr.matches(all).count())
    };
    assert_eq!(counted(program.clone().also_preload(&counting).with_library()), [RANKS, 0]);
    // Open MPI calls a component behind every tool.
    let behind = if is_component() { [RANKS, 0] } else { [0, RANKS] };
    assert_eq!(counted(program.with_library().also_preload(&counting)), behind);
}

/// With a launcher of another MPI, every rank is alone in its world and writes the whole file: a line names the
/// launcher.
#[test]
fn a_launcher_of_another_mpi_is_named() {
    let (size, rank) = match ours() {
        Family::Mpich => ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        Family::OpenMpi => ("PMI_SIZE", "PMI_RANK"),
    };
    let started = |by: &str| {
        let program = Launch::new(1, &compile("names.c")).arg("plain").env(size, by).env(rank, "0").with_library();
        program.run().stderr.matches("is alone in its MPI_COMM_WORLD").count()
    };
    assert_eq!((started("4"), started("1")), (1, 0));
}
