//! Tests programs that are linked with the library in front of MPI, by the flags of `pkg-config tributary-mpiio`: they
//! run their collective calls on it with no variable set.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::abis::sorted;
use crate::common::launch::{Launch, Outcome, library};
use crate::common::programs::{Build, folder};
use crate::common::report::accelerated;

/// Returns the words that `pkg-config` prints for an installation with the library under test.
fn flags() -> Vec<String> {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    let prefix = PREFIX.get_or_init(|| {
        let prefix =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder in the target directory").keep();
        let file = include_str!("../../package/tributary-mpiio.pc.in").replace("@VERSION@", "0.1.0");
        std::fs::create_dir_all(prefix.join("lib/pkgconfig")).expect("folders of an installation");
        std::fs::write(prefix.join("lib/pkgconfig/tributary-mpiio.pc"), file).expect("the file of pkg-config");
        std::os::unix::fs::symlink(library(), prefix.join("lib/libtributary_mpiio.so")).expect("a link to the library");
        prefix
    });
    let mut command = Command::new("pkg-config");
    command.args(["--libs", "tributary-mpiio"]).env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let output = command.output().expect("pkg-config");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).split_whitespace().map(String::from).collect()
}

/// Runs a program that is linked with the library; asks for reports only.
fn run(program: &Path, argument: &str) -> Outcome {
    Launch::new(3, program).arg(argument).env("TRIB_REPORT", "json").run()
}

/// Checks that a linked program does what it does with the library off, and that the library runs this function.
fn same(program: &Path, argument: &str, call: &str) {
    let plain = Launch::new(3, program).arg(argument).env("TRIB_DISABLE", "1").env("TRIB_REPORT", "json").run();
    assert!(plain.reports.is_empty() && !plain.stderr.contains("tributary"), "{}", plain.stderr);
    let outcome = run(program, argument);
    assert_eq!(sorted(&outcome.stdout), sorted(&plain.stdout));
    assert!(outcome.files == plain.files, "other files than with the library off");
    assert!(accelerated(&outcome.reports, call) > 0, "{}", outcome.stderr);
}

#[test]
fn a_program_in_c() {
    let program = Build { name: Some("abi_linked"), options: flags(), ..Build::default() }.compile("abi.c");
    same(&program, "data", "write_all");
}

#[test]
fn a_program_in_fortran() {
    for (way, name) in [("-DWITH_MPIF", "mpif_linked"), ("-DWITH_MPI", "mpi_linked"), ("-DWITH_F08", "f08_linked")] {
        let options = flags().into_iter().chain([way.to_string()]).collect();
        let program = Build { name: Some(name), options, ..Build::default() }.compile("collective.F90");
        same(&program, "", "write_all");
    }
}

/// The program calls no function of the library itself: a library that it is linked with does.
#[test]
fn a_program_whose_files_another_library_opens() {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let other = Build { options, name: Some("like_pnetcdf_beside.so"), ..Build::default() }.compile("like_pnetcdf.c");
    let libraries = vec![other.display().to_string()];
    let build = Build { name: Some("driver_linked"), options: flags(), libraries, ..Build::default() };
    let outcome = run(&build.compile("driver.c"), "1.15");
    assert_eq!(outcome.stdout, "driver mpiio\n");
    assert_eq!(accelerated(&outcome.reports, "write_at_all"), 1, "{}", outcome.stderr);
}

/// A library that counts calls as Darshan does counts all of them if the program is linked with it first, and only the
/// calls that MPI runs if it is linked behind this library.
#[test]
fn darshan_linked_in_the_same_way() {
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let counting = Build { options, name: Some("counting_linked.so"), ..Build::default() }.compile("counting.c");
    let darshan = ["-Wl,--no-as-needed".to_string(), counting.display().to_string()];
    let outcome = |name, options: Vec<String>| {
        let libraries = vec![folder().join("like_pnetcdf.c").display().to_string()];
        let outcome =
            run(&Build { name: Some(name), options, libraries, ..Build::default() }.compile("driver.c"), "1.14");
        let counts = |writes| {
            (0..3).all(|rank| {
                outcome.stderr.contains(&format!("counting: rank {rank}: 1 opens, {writes} writes, 0 reads"))
            })
        };
        (accelerated(&outcome.reports, "write_at_all"), counts(1), counts(0))
    };
    let (first, last) = (darshan.iter().cloned().chain(flags()), flags().into_iter().chain(darshan.iter().cloned()));
    assert_eq!(outcome("driver_counted", darshan.to_vec()), (0, true, false));
    assert_eq!(outcome("driver_darshan_first", first.collect()), (1, true, false));
    assert_eq!(outcome("driver_darshan_last", last.collect()), (1, false, true));
}
