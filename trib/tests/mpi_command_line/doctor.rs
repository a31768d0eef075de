//! `trib doctor` on programs of the MPI library that the tests run on.

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
    // By its name: it is not started.
    let other = if mpiexec::is_mpich() { "orterun" } else { "mpiexec.hydra" };
    let (found, code) = doctor(other);
    assert!(found["problems"][0].as_str().unwrap().starts_with("launcher: that of "), "{found}");
    assert_eq!(code, Some(1));
}
