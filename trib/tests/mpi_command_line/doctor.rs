//! Tests `trib doctor` on programs of the MPI library of the tests.

use std::process::Command;

use serde_json::Value;
use tributary_testing::mpiexec;

use crate::compare::{library, tools};
use crate::run::program;

fn doctor(launcher: &str) -> (Value, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.args(["doctor", "--json", "--library"]).arg(library()).args(["--", launcher, "-n", "2"]).arg(program());
    let output = command.output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")), output.status.code())
}

#[test]
fn the_mpi_library_of_a_program_and_its_launcher() {
    let (found, code) = doctor(&tools().1);
    assert_eq!((&found["problems"], code), (&Value::Array(vec![]), Some(0)), "{found}");
    let (abi, version) = match mpiexec::is_mpich() {
        true => ("MPICH's ABI", "MPICH"),
        false => ("Open MPI's ABI", "Open MPI"),
    };
    assert_eq!(found["mpi"]["abi"], abi, "{found}");
    assert!(found["mpi"]["version"].as_str().unwrap().contains(version), "{found}");
    assert!(found["next"].as_str().unwrap().starts_with("trib run --report -- "), "{found}");
}

#[test]
fn a_launcher_of_another_mpi_is_a_problem() {
    // The launcher is recognised by its name and not started.
    let other = if mpiexec::is_mpich() { "orterun" } else { "mpiexec.hydra" };
    let (found, code) = doctor(other);
    assert!(found["problems"][0].as_str().unwrap().starts_with("launcher: that of "), "{found}");
    assert_eq!(code, Some(1));
}

/// Tests a Python program. Python names no MPI library: its package mpi4py, for which another package stands here,
/// loads one.
#[test]
fn a_launcher_of_another_mpi_than_that_of_mpi4py_is_a_problem() {
    let (found, _) = doctor(&tools().1);
    let path = found["mpi"]["path"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("mpi4py");
    std::fs::create_dir(&package).unwrap();
    std::fs::write(package.join("__init__.py"), "class rc:\n    pass\n").unwrap();
    std::fs::write(package.join("MPI.py"), format!("import ctypes\nctypes.CDLL({path:?})\n")).unwrap();
    let other = if mpiexec::is_mpich() { "orterun" } else { "mpiexec.hydra" };
    let problems = |launcher: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
        command.args(["doctor", "--json", "--library"]).arg(library());
        command.args(["--", launcher, "-n", "2", "python3", "model.py"]).env("PYTHONPATH", folder.path());
        let output = command.output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        found["problems"].as_array().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(problems(&tools().1), [""; 0]);
    assert!(problems(other)[0].starts_with("\"launcher: that of "), "{:?}", problems(other));
    std::fs::write(package.join("MPI.py"), "raise ImportError('libmpi.so.12: cannot open')\n").unwrap();
    assert!(problems(other)[0].contains("loads no MPI library: libmpi.so.12: cannot open; load the module"));
}
