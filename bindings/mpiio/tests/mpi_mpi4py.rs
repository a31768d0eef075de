//! mpi4py from the Python package index, and its own tests of files.
//!
//! `.ci/mpi4py` in the repository sets up what is needed, in `target/mpi4py`; TRIB_MPI4PY names another folder.
#![cfg(feature = "mpi")]

mod common;

use std::path::{Path, PathBuf};

use common::family::{Family, ours};
use common::launch::{Launch, Outcome};
use common::matrix::{Setting, same_as_without, with_library};
use common::programs::folder;

/// The modules of mpi4py's tests that open files.
const MODULES: [&str; 3] = ["test_io", "test_file", "test_subclass"];

/// Where `.ci/mpi4py` put an interpreter and the tests.
fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi4py");
    let path = std::env::var_os("TRIB_MPI4PY").map_or(root, PathBuf::from);
    let is_there = path.join("python/bin/python").exists() && path.join("tests/main.py").exists();
    assert!(is_there, "mpi4py is not in {}; run: .ci/mpi4py {0}", path.display());
    path.canonicalize().expect("a folder that is there")
}

/// A Python program on the MPI of this build.
fn python(ranks: usize, program: &Path) -> Launch {
    let installed = installed();
    let launch = Launch::new(ranks, &installed.join("python/bin/python")).arg(program.display().to_string());
    let launch = launch.env("MPI4PY_MPIABI", ours().name());
    match ours() {
        // The wheel wants the name that MPICH gives its library, and Debian does not.
        Family::Mpich => launch.env("LD_LIBRARY_PATH", installed.join("mpich").display().to_string()),
        Family::OpenMpi => launch,
    }
}

#[test]
fn arrays_of_a_user() {
    let launch = python(3, &folder().join("arrays.py"));
    let calls = ["write_all", "iwrite_all", "write_at_all_begin", "read_all"];
    same_as_without(&launch, &Setting::few(), &calls);
}

/// By test, what became of it, in the order of names.
fn results(outcome: &Outcome, ranks: usize) -> Vec<String> {
    // unittest prints `name (where) ... result`; what a rank says may come between the ranks' lines, not into them.
    let ends = ["ok", "FAIL", "ERROR", "expected failure", "unexpected success"];
    let is_result = |line: &&str| {
        let end = line.rsplit_once(" ... ").map(|(_, end)| end);
        end.is_some_and(|end| ends.contains(&end) || end.starts_with("skipped"))
    };
    let mut results: Vec<String> = outcome.stderr.lines().filter(is_result).map(String::from).collect();
    assert!(results.len() >= 100 * ranks, "{} results of tests on {ranks} ranks:\n{}", results.len(), outcome.stderr);
    results.sort();
    results
}

/// mpi4py's tests on so many ranks.
fn own_tests(ranks: usize) -> Launch {
    let launch = python(ranks, &installed().join("tests/main.py"));
    let launch = MODULES.iter().fold(launch, |launch, module| launch.arg("-i").arg(*module));
    // Synchronising a disk hundreds of times is most of the time.
    let memory = Path::new("/dev/shm");
    let launch = if memory.is_dir() { launch.env("TMPDIR", memory.display().to_string()) } else { launch };
    launch.arg("--no-builddir").arg("-v").seconds(240)
}

fn same_results(ranks: usize, settings: &[Setting]) {
    let launch = own_tests(ranks);
    let due = results(&launch.run(), ranks);
    with_library(&launch, settings, &["write_all", "read_at_all", "write_all_begin"], |outcome, what| {
        assert_eq!(results(outcome, ranks), due, "{what}: results with the library (left) and without");
    });
}

#[test]
fn its_own_tests_on_one_rank() {
    same_results(1, &[]);
}

#[test]
fn its_own_tests_on_two_ranks() {
    same_results(2, &Setting::few());
}

#[test]
fn its_own_tests_on_three_ranks() {
    same_results(3, &[]);
}
