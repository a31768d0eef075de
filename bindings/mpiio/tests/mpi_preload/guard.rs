//! Where the library has nothing to do, and where it must do nothing: another MPI library, no MPI at all, no file, and
//! TRIB_DISABLE.

use std::process::Command;

use crate::common::family::ours;
use crate::common::launch::{Launch, library};
use crate::common::matrix::same;
use crate::common::programs::{Build, compile};

/// The program is compiled and started with the tools of the other family. Both must be installed.
#[test]
fn a_program_of_the_other_family_is_left_alone() {
    let other = ours().other();
    let program = Build { family: Some(other), ..Build::default() }.compile("split.c");
    let launch = Launch::new(2, &program).family(other);
    let plain = launch.run();
    let with = launch.with_library().run();
    same(&with, &plain, "with the library of another MPI");
    assert!(with.reports.is_empty(), "{}", with.stderr);
    let warnings: Vec<&str> = with.stderr.lines().filter(|line| line.starts_with("tributary:")).collect();
    assert_eq!(warnings.len(), 1, "{}", with.stderr);
    assert!(warnings[0].contains("was built for") && warnings[0].contains("passed through"), "{}", warnings[0]);
}

#[test]
fn it_can_be_turned_off() {
    let launch = Launch::new(2, &compile("split.c"));
    let plain = launch.run();
    let with = launch.with_library().env("TRIB_DISABLE", "1").run();
    same(&with, &plain, "with TRIB_DISABLE=1");
    assert!(with.reports.is_empty() && !with.stderr.contains("tributary"), "{}", with.stderr);
}

#[test]
fn a_program_without_files_sees_nothing() {
    let launch = Launch::new(2, &compile("idle.c"));
    let plain = launch.run();
    let with = launch.with_library().run();
    same(&with, &plain, "a program without files");
    assert_eq!(with.stderr, plain.stderr);
}

#[test]
fn a_program_without_mpi_sees_nothing() {
    let output = Command::new("/bin/echo").arg("no MPI").env("LD_PRELOAD", library()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"no MPI\n"[..], &b""[..]), "{output:?}");
}

/// Anything else could come between a program and one of its own libraries.
#[test]
fn nothing_but_files_is_exported() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output();
    let output = output.unwrap_or_else(|cause| panic!("nm: {cause}; install binutils"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    let known = ["MPI_File_", "PMPI_File_", "mpi_file_", "pmpi_file_", "trib_", "tributary_"];
    let others: Vec<_> = names.iter().filter(|name| !known.iter().any(|prefix| name.starts_with(prefix))).collect();
    assert!(others.is_empty(), "exported: {others:?}");
    for call in ["open", "close", "set_view", "write_at_all", "iread_all", "read_all_begin", "write_ordered", "f2c"] {
        for prefix in ["MPI_File_", "PMPI_File_"] {
            let name = format!("{prefix}{call}");
            assert!(names.contains(&name.as_str()), "{name} is not exported: {names:?}");
        }
    }
}
