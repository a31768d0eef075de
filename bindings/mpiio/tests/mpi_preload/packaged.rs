//! Tests Debian's packaged programs without changes, with input of ours in `tests/programs`: with every setting they
//! write and print the same as without the library.
//!
//! The programs are linked with Open MPI, and run on it whatever MPI the other tests run on. Their packages take 1.2
//! GB, so the tests are ignored unless somebody asks for them: `.ci/programs` installs the packages and runs them.
//! With `--nocapture` each prints what was accelerated, what was left to MPI, and how long that took.
//! `docs/programs.md` describes the same programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::family::Family;
use crate::common::launch::{Launch, Outcome};
use crate::common::matrix::{Setting, compare_files, with_library};
use crate::common::report::accelerated;
use crate::enabled::package;

/// Returns the path of a file of `tests/programs`.
fn input(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(name);
    path.canonicalize().unwrap_or_else(|cause| panic!("{name}: {cause}")).display().to_string()
}

/// Returns a run of a program from a package.
fn packaged(ranks: usize, program: &str) -> Launch {
    let path = PathBuf::from("/usr/bin").join(program);
    assert!(path.exists(), "{} is not there; .ci/programs installs it", path.display());
    Launch::new(ranks, &path).family(Family::OpenMpi).env("OMP_NUM_THREADS", "1")
}

/// Returns a run of a Python program, with Debian's interpreter, because its packages are for that.
fn python(ranks: usize, program: &str) -> Launch {
    packaged(ranks, "python3").arg(input(program))
}

/// Returns the files of a run whose names have one of these endings.
fn named(outcome: &Outcome, endings: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let of_them = outcome.files.iter().filter(|(name, _)| endings.iter().any(|ending| name.ends_with(ending)));
    of_them.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
}

/// Runs a program without the library and with it, under every setting: the files with these endings must be equal,
/// and the engine must run the functions `calls`. Returns the run without the library.
fn same_files(launch: &Launch, endings: &[&str], calls: &[&str]) -> Outcome {
    let plain = launch.run();
    let files = named(&plain, endings);
    assert!(endings.iter().all(|ending| files.keys().any(|name| name.ends_with(ending))), "{:?}", plain.files.keys());
    with_library(launch, &Setting::few(), calls, |outcome, what| {
        compare_files(&named(outcome, endings), &files, what);
        if what == "defaults" {
            tell(outcome);
        }
    });
    plain
}

/// Prints the library's report on each file.
fn tell(outcome: &Outcome) {
    for report in &outcome.reports {
        let name = Path::new(&report.file).file_name().unwrap_or_default().to_string_lossy();
        let ours: Vec<_> = report.accelerated.iter().map(|(call, ran)| format!("{} {call}", ran.calls)).collect();
        let left: Vec<_> =
            report.passed_through.iter().map(|left| format!("{} {} ({})", left.calls, left.call, left.why)).collect();
        let seconds = report.seconds.get("total").copied().unwrap_or_default();
        println!("{name}: accelerated {ours:?} in {seconds:.6} s; left to MPI {left:?}");
    }
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn h5py_writes_plain_chunked_and_compressed_datasets() {
    same_files(&python(2, "h5py/program.py").arg("x.h5"), &[".h5"], &["write_at_all", "read_at_all"]);
}

/// Runs a Python program by a script that enables the library, with no variable set: the program writes the same file as
/// by itself.
fn same_file_enabled(interpreter: &str, program: &str, file: &str) {
    let plain = packaged(2, interpreter).arg(input(program)).arg(file).run();
    let enabled = packaged(2, interpreter).arg(input("../../packages/tests/enables.py")).arg(input(program)).arg(file);
    let outcome = enabled.env("PYTHONPATH", package().display().to_string()).env("TRIB_REPORT", "json").run();
    compare_files(&named(&outcome, &[file]), &named(&plain, &[file]), "enabled");
    assert!(accelerated(&outcome.reports, "write_at_all") > 0, "{}", outcome.stderr);
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn h5py_of_a_script_that_enables_the_library() {
    same_file_enabled("python3", "h5py/program.py", "x.h5");
}

/// Returns the path of an interpreter with netCDF4, which `.ci/programs` compiles for Debian's parallel NetCDF.
fn with_netcdf4() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/netcdf4/bin/python");
    path.display().to_string()
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn netcdf4_writes_plain_chunked_and_compressed_variables_and_records() {
    let launch = packaged(2, &with_netcdf4()).arg(input("netcdf4/program.py")).arg("x.nc");
    same_files(&launch, &["x.nc"], &["write_at_all", "read_at_all"]);
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn netcdf4_of_a_script_that_enables_the_library() {
    same_file_enabled(&with_netcdf4(), "netcdf4/program.py", "x.nc");
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn petsc_views_and_loads_a_distributed_array() {
    same_files(&python(4, "petsc/program.py").arg("x.petsc"), &[".petsc"], &["write_all", "read_all"]);
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn lammps_dumps_and_restarts() {
    let launch = packaged(2, "lmp").arg("-in").arg(input("lammps/in.melt")).arg("-log").arg("none");
    same_files(&launch, &[".mpiio"], &["write_at_all", "read_at_all"]);
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn abinit_writes_and_reads_wave_functions() {
    same_files(&packaged(2, "abinit").arg(input("abinit/si.abi")), &["_WFK"], &["write_all", "read_all"]);
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn cp2k_writes_cubes() {
    let launch = packaged(4, "cp2k.psmp").arg("-i").arg(input("cp2k/h2o.inp"));
    same_files(&launch, &[".cube"], &["write_all"]);
}

/// The order of points in the program's file differs from run to run, so the program prints a digest that does not
/// depend on the order.
#[test]
#[ignore = "needs packages of .ci/programs"]
fn dolfinx_writes_a_mesh_and_a_function() {
    let launch = python(2, "dolfinx/program.py").arg("x");
    let plain = launch.run();
    assert!(plain.stdout.starts_with("10368 "), "{}", plain.stdout);
    with_library(&launch, &Setting::few(), &["write_at_all"], |outcome, what| {
        assert_eq!(outcome.stdout, plain.stdout, "{what}");
        if what == "defaults" {
            tell(outcome);
        }
    });
}

#[test]
#[ignore = "needs packages of .ci/programs"]
fn pnetcdf_makes_and_compares_files() {
    let make = |name: &str| {
        packaged(1, "ncmpigen").arg("-v").arg("5").arg("-o").arg(name).arg(input("pnetcdf-tools/field.cdl"))
    };
    let made = same_files(&make("x.nc"), &[".nc"], &["write_at_all"]);
    let path = made.folder.path().join("x.nc").display().to_string();
    let compared = packaged(2, "ncmpidiff").arg(path.clone()).arg(path);
    let plain = compared.run();
    assert!(plain.stdout.contains("All variables of two files are the same"), "{}", plain.stdout);
    with_library(&compared, &Setting::few(), &["read_at_all"], |outcome, what| {
        assert_eq!(outcome.stdout, plain.stdout, "{what}");
    });
}
