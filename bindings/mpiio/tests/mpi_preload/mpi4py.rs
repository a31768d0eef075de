//! Tests mpi4py from the Python package index, with its own tests of files.
//!
//! `.ci/mpi4py` in the repository sets up an interpreter and the tests in `target/mpi4py`; TRIB_MPI4PY names another
//! folder.

use std::path::{Path, PathBuf};

use tributary_testing::fault_sweep::most_tried;

use crate::common::family::{Family, ours};
use crate::common::launch::Launch;
use crate::common::matrix::{Setting, same_as_without};
use crate::common::programs::folder;

/// Modules of mpi4py's tests that open files.
const MODULES: [&str; 3] = ["test_io", "test_file", "test_subclass"];

/// Returns the folder in which `.ci/mpi4py` put an interpreter and the tests.
pub fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpi4py");
    let path = std::env::var_os("TRIB_MPI4PY").map_or(root, PathBuf::from);
    let is_there = path.join("python/bin/python").exists() && path.join("tests/main.py").exists();
    assert!(is_there, "mpi4py is not in {}; run: .ci/mpi4py {0}", path.display());
    path.canonicalize().expect("a folder that is there")
}

/// Returns a run of a Python program on the MPI library that the tests run on.
pub fn python(ranks: usize, program: &Path) -> Launch {
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
    same_as_without(&launch, &Setting::few(), &["write_all", "iwrite_all", "write_at_all_begin", "read_all"]);
}

/// Returns a run of mpi4py's tests on `ranks` ranks.
fn own_tests(ranks: usize) -> Launch {
    let tests = installed().join("tests").display().to_string();
    let launch = python(ranks, &folder().join("own_tests.py")).arg(tests);
    let launch = MODULES.iter().fold(launch, |launch, module| launch.arg(*module));
    // Synchronising a disk hundreds of times is most of the time.
    let memory = Path::new("/dev/shm");
    let launch = if memory.is_dir() { launch.env("TMPDIR", memory.display().to_string()) } else { launch };
    launch.seconds(240)
}

fn same_results(ranks: usize, settings: &[Setting]) {
    let plain = same_as_without(&own_tests(ranks), settings, &["write_all", "read_at_all", "write_all_begin"]);
    let passed = plain.stdout.lines().filter(|line| line.ends_with(": ok")).count();
    assert!(passed >= 100 * ranks, "{passed} tests passed on {ranks} ranks:\n{}", plain.stdout);
    assert!(!plain.stdout.contains(": ERROR") && !plain.stdout.contains(": FAILED"), "{}", plain.stdout);
}

#[test]
fn its_own_tests_on_one_rank() {
    same_results(1, &[]);
}

/// Slow: each of more than a hundred tests opens files. They are about calls and arguments, which no kernel and no driver sees: one setting, and the
/// others with TRIB_TEST_ALL=1.
#[test]
fn its_own_tests_on_two_ranks() {
    let settings = Setting::few();
    same_results(2, &settings[..settings.len().min(most_tried(1) as usize)]);
}

/// Slow, as on two ranks.
#[test]
fn its_own_tests_on_three_ranks() {
    same_results(3, &[]);
}
