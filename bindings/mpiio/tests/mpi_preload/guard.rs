//! Tests cases in which the library must do nothing: an unknown MPI library, no MPI at all, no file, and
//! TRIB_DISABLE.

use std::process::Command;

use crate::common::launch::{Launch, library};
use crate::common::matrix::same;
use crate::common::programs::{Build, compile};

/// A library has MPI's functions but an unknown binary interface: the program runs on it as without us, and a line
/// says why.
#[test]
fn an_mpi_of_an_unknown_interface_is_left_alone() {
    let options = ["-shared", "-fPIC", "-Wl,--as-needed", "-Wno-attribute-alias"].map(String::from).to_vec();
    let foreign = Build { name: Some("foreign-mpi"), options, ..Build::default() }.compile("foreign_mpi.c");
    let options = vec!["-Wl,--as-needed".to_string()];
    let program = Build { name: Some("foreign"), options, ..Build::default() }.compile("foreign.c");
    let run = |preloaded: &str| {
        let mut command = Command::new(&program);
        command.arg(&foreign).env("LD_PRELOAD", preloaded).env("TRIB_REPORT", "1").output().unwrap()
    };
    let (plain, with) = (run(""), run(library().to_str().unwrap()));
    assert!(plain.status.success() && with.status.success(), "{plain:?}\n{with:?}");
    assert_eq!(with.stdout, plain.stdout);
    assert!(plain.stderr.is_empty(), "{plain:?}");
    let said = String::from_utf8(with.stderr).unwrap();
    let line = "(Foreign MPI 1.0) has an unknown ABI; known: the ABI of MPICH";
    assert!(said.starts_with("tributary: MPI library ") && said.contains(line), "{said}");
    assert!(said.ends_with("; MPI runs all calls of this program\n") && said.lines().count() == 1, "{said}");
}

#[test]
fn it_can_be_turned_off() {
    let launch = Launch::new(2, &compile("split.c"));
    let plain = launch.run();
    for (value, is_off) in [("1", true), ("yes", true), ("0", false)] {
        let with = launch.clone().with_library().env("TRIB_DISABLE", value).run();
        same(&with, &plain, &format!("with TRIB_DISABLE={value}"));
        assert_eq!(with.reports.is_empty(), is_off, "TRIB_DISABLE={value}: {}", with.stderr);
        assert!(!is_off || !with.stderr.contains("tributary"), "{}", with.stderr);
    }
}

#[test]
fn a_program_without_files_sees_nothing() {
    let launch = Launch::new(2, &compile("idle.c"));
    let plain = launch.run();
    let with = launch.with_library().env("TRIB_REPORT", "0").run();
    same(&with, &plain, "a program without files");
    assert_eq!(with.stderr, plain.stderr);
}

#[test]
fn a_program_without_mpi_sees_nothing() {
    let output = Command::new("/bin/echo").arg("no MPI").env("LD_PRELOAD", library()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"no MPI\n"[..], &b""[..]), "{output:?}");
}

/// The library is linked with no MPI library: otherwise it would bring a second one into programs of another.
#[test]
fn it_needs_no_mpi_library() {
    let output = Command::new("readelf").arg("-d").arg(library()).output();
    let output = output.unwrap_or_else(|cause| panic!("readelf: {cause}; install binutils"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let needed: Vec<&str> = said.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(!needed.is_empty() && needed.iter().all(|line| !line.contains("mpi")), "{needed:?}");
}

/// The library exports nothing else: that could come between a program and its own libraries.
#[test]
fn nothing_but_files_waiting_the_end_and_the_look_of_pnetcdf_is_exported() {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output();
    let output = output.unwrap_or_else(|cause| panic!("nm: {cause}; install binutils"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = said.lines().filter_map(|line| line.split_whitespace().next_back()).collect();
    let known = ["MPI_File_", "PMPI_File_", "mpi_file_", "pmpi_file_", "trib_", "tributary_"];
    let waiting = ["Wait", "Test", "Request_get_status"];
    let is_waiting = |name: &str| {
        let rest = name.trim_start_matches('P').strip_prefix("MPI_").unwrap_or_default();
        let ends = ["", "all", "any", "some", "_all", "_any", "_some"];
        waiting.iter().any(|call| rest.strip_prefix(call).is_some_and(|end| ends.contains(&end)))
    };
    let is_known = |name: &str| {
        known.iter().any(|prefix| name.starts_with(prefix))
            || is_waiting(name)
            || ["MPI_Finalize", "PMPI_Finalize", "MPI_Info_get", "mca_io_tributary_component"].contains(&name)
    };
    let others: Vec<_> = names.iter().filter(|name| !is_known(name)).collect();
    assert!(others.is_empty(), "exported: {others:?}");
    for call in ["open", "close", "set_view", "write_at_all", "iread_all", "read_all_begin", "write_ordered", "f2c"] {
        for prefix in ["MPI_File_", "PMPI_File_"] {
            let name = format!("{prefix}{call}");
            assert!(names.contains(&name.as_str()), "{name} is not exported: {names:?}");
        }
    }
}
