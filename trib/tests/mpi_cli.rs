//! `trib --fabric mpi` under mpiexec, as its users call it.
#![cfg(feature = "mpi")]

use std::process::{Command, Output, Stdio};

/// The launcher of the MPI library in use.
fn mpiexec(ranks: usize, arguments: &[&str]) -> Output {
    let launcher = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".to_string());
    let mut command = Command::new(launcher);
    command.env("MPIEXEC_TIMEOUT", "120").stdin(Stdio::null());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
    command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_trib")]).args(arguments).output().unwrap()
}

#[test]
fn sixteen_ranks_write_what_sixteen_threads_write() {
    let common = ["replay", "e3sm-f", "--verify", "--json", "--ranks-per-node", "4"];
    let on_mpi = mpiexec(16, &[&common[..], &["--fabric", "mpi"]].concat());
    assert!(on_mpi.status.success(), "{}", String::from_utf8_lossy(&on_mpi.stderr));
    let on_mpi: serde_json::Value = serde_json::from_slice(&on_mpi.stdout).unwrap();
    let on_threads = Command::new(env!("CARGO_BIN_EXE_trib")).args(common).output().unwrap();
    let on_threads: serde_json::Value = serde_json::from_slice(&on_threads.stdout).unwrap();
    assert_eq!((&on_mpi["verified"], &on_mpi["fabric"]), (&true.into(), &"mpi".into()));
    for key in ["sha256", "ranks", "nodes", "aggregators", "requests", "bytes", "rounds", "messages", "fan_in"] {
        assert_eq!(on_mpi[key], on_threads[key], "{key}");
    }
}

#[test]
fn an_error_is_said_once_and_ends_the_job() {
    for (arguments, expected) in [
        (&["--map", "missing.nc"][..], "missing.nc"),
        (&["--ranks", "5"], "3 were started by mpiexec"),
        (&["--output", "/dev/full"], "No space left"),
        (&["--output", "nowhere/file"], "No such file"),
    ] {
        let output = mpiexec(3, &[&["replay", "e3sm-f", "--fabric", "mpi"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert_eq!(said.matches("trib: ").count(), 1, "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(output.stdout.is_empty() || !String::from_utf8_lossy(&output.stdout).contains('{'));
    }
}
