//! Tests `trib --fabric mpi` under mpiexec.

use std::path::Path;
use std::process::{Command, Output};
use tributary::hints::KernelHint;
use tributary_testing::mpiexec;
use tributary_testing::settings::DRIVERS;
use tributary_testing::small;

/// Runs `trib` under the launcher of the MPI library that it is linked with.
fn mpiexec(ranks: usize, arguments: &[&str]) -> Output {
    mpiexec::start(ranks, Path::new(env!("CARGO_BIN_EXE_trib")), arguments, &[])
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
        (&["--ranks", "5"], "mpiexec started 3"),
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

/// Tests every pattern with two kernels and drivers in turn: written, compared, read back by all ranks. (The library's
/// suite tests every kernel with every pattern.)
#[test]
fn four_ranks_write_and_read_back_every_pattern() {
    let directory = tempfile::tempdir().unwrap();
    let kernels: Vec<_> = KernelHint::all().map(|kernel| kernel.to_string()).collect();
    let windows = "striping_unit=1000;striping_factor=3;cb_buffer_size=2000;trib_tiny_call=0;romio_cb_write=enable;\
                   romio_cb_read=enable;nc_num_aggrs_per_node=1;cb_nodes=3";
    let mut settings = kernels.iter().map(String::as_str).zip(DRIVERS.into_iter().cycle()).cycle();
    for pattern in small::patterns(directory.path()) {
        let mut digests = std::collections::BTreeSet::new();
        let words: Vec<&str> = ["replay"].into_iter().chain(pattern.iter().map(String::as_str)).collect();
        for (kernel, driver) in settings.by_ref().take(2) {
            let how = ["--fabric", "mpi", "--kernel", kernel, "--driver", driver, "--ranks-per-node", "2"];
            let more = ["--hint", windows, "--buffer", "noncontiguous", "--verify", "--read", "--json"];
            let output = mpiexec(small::RANKS, &[&words[..], &how, &more].concat());
            assert!(output.status.success(), "{pattern:?} {kernel}: {}", String::from_utf8_lossy(&output.stderr));
            let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((&all["verified"], &all["fabric"]), (&true.into(), &"mpi".into()), "{pattern:?} {kernel}");
            digests.insert(all["sha256"].to_string());
        }
        assert_eq!(digests.len(), 1, "{pattern:?}");
    }
}

#[test]
fn four_ranks_write_netcdf_read_a_file_and_replay_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (kept, trace) = (at("kept.nc"), at("trace.dat"));
    std::fs::write(&trace, small::trace()).unwrap();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let output = mpiexec(small::RANKS, &[arguments, &["--fabric", "mpi", "--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let btio = ["replay", "btio", "--grid", "7", "--iterations", "3"];
    let written = json(&[&btio[..], &["--format", "netcdf", "--verify", "--output", &kept]].concat());
    assert_eq!((&written["verified"], &written["calls"]), (&true.into(), &3.into()));
    let read = json(&[&btio[..], &["--read-only", &kept, "--verify"]].concat());
    assert_eq!((&read["verified"], &read["sha256"]), (&true.into(), &written["sha256"]));

    let mut wrong = std::fs::read(&kept).unwrap();
    wrong[600] ^= 1;
    std::fs::write(&kept, wrong).unwrap();
    let output = mpiexec(small::RANKS, &[&btio[..], &["--fabric", "mpi", "--read-only", &kept, "--verify"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("at file offset 600,"), "{said}");
    assert_eq!(said.matches("trib: ").count(), 1, "{said}");

    let exchanged = json(&["replay", "wrf", "--trace", &trace]);
    assert_eq!((&exchanged["bytes_received"], &exchanged["verified"]), (&30_012.into(), &true.into()));
    let output = mpiexec(3, &["replay", "btio", "--fabric", "mpi"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("square") && said.matches("trib: ").count() == 1, "{said}");
}
