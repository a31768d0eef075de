//! `trib --fabric mpi` under mpiexec, as its users call it.

use std::path::Path;
use std::process::{Command, Output};
use tributary::hints::KernelHint;
use tributary_testing::mpiexec;
use tributary_testing::small;

/// `trib` under the launcher of the MPI library that it is linked with.
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

/// Every pattern with two kernels and drivers in turn: written, compared, read back by all ranks. (Every kernel with every
/// pattern is in the suite of the library.)
#[test]
fn four_ranks_write_and_read_back_every_pattern() {
    let directory = tempfile::tempdir().unwrap();
    let kernels: Vec<_> = KernelHint::all().map(|kernel| kernel.to_string()).collect();
    let windows = "striping_unit=1000;striping_factor=3;cb_buffer_size=2000;trib_tiny_call=0;romio_cb_write=enable;\
                   romio_cb_read=enable;nc_num_aggrs_per_node=1;cb_nodes=3";
    let mut settings = kernels.iter().map(String::as_str).zip(["lustre", "gpfs", "posix"].into_iter().cycle()).cycle();
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

/// Every choice's bytes are compared with those of a serial write before anything is measured.
#[test]
fn kernels_are_measured_on_pretended_nodes() {
    let small = ["tune", "kernels", "--measure", "mpi", "--pattern", "btio --grid 7 --iterations 2", "--turns", "2"];
    let output = mpiexec(4, &[&small[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = all["rows"].as_array().unwrap();
    let nodes: Vec<_> = rows.iter().map(|row| row["nodes"].as_u64().unwrap()).collect();
    assert_eq!(nodes, [1, 2, 4]);
    // Two layers want two ranks on a node for each local aggregator.
    for (row, choices) in rows.iter().zip([7, 6, 5]) {
        let times = row["first"].as_object().unwrap();
        assert_eq!((times.len(), times["auto"].as_array().unwrap().len()), (choices, 2), "{row}");
        assert!(
            times.values().flat_map(|all| all.as_array().unwrap()).all(|time| time.as_f64().unwrap() > 0.0),
            "{row}"
        );
        assert!(["MPICH", "Open MPI"].iter().any(|name| row["library"].as_str().unwrap().starts_with(name)), "{row}");
    }
    let refused = mpiexec(3, &[&small[..], &["--ranks-per-node", "2"]].concat());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("a divisor of 3") && said.matches("trib: ").count() == 1,
        "{said}"
    );
}

#[test]
fn hsumma_on_mpi_is_right() {
    let output = mpiexec(4, &["hsumma", "--fabric", "mpi", "--n", "32", "--block", "4", "--groups", "2x1", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&all["hsumma"]["verified"], &all["fabric"]), (&true.into(), &"mpi".into()));
    let refused = mpiexec(3, &["hsumma", "--fabric", "mpi", "--n", "32"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.matches("trib: ").count() == 1, "{said}");
}

/// Small problems: every contestant's result is checked by the command itself; here, that all are reported.
#[test]
fn gather_and_scatter_are_held_to_the_guidelines() {
    let small = ["guidelines", "--op", "gatherv", "--op", "scatterv", "--blocks", "4,300", "--repetitions", "7"];
    let output = mpiexec(3, &[&small[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&all["ranks"], &all["root"], &all["repetitions"]), (&3.into(), &1.into(), &7.into()));
    let problems = all["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2 * 2 * 6);
    for problem in problems {
        let seconds = problem["median_seconds"].as_object().unwrap();
        assert_eq!(seconds.len(), 5);
        assert!(seconds.values().all(|time| time.as_f64().unwrap() > 0.0), "{problem}");
        assert!(problem["bytes"].as_u64().unwrap() <= problem["padded_bytes"].as_u64().unwrap());
        for violation in problem["violations"].as_array().unwrap() {
            assert!(violation["guideline"] == 2 || problem["blocks"] == "same", "{problem}");
            assert!(violation["ratio"].as_f64().unwrap() > 1.0, "{problem}");
        }
    }
    let table = mpiexec(2, &["guidelines", "--blocks", "8", "--repetitions", "7"]);
    let said = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success() && said.contains("two blocks") && said.contains("2 ranks, root 1"), "{said}");

    let output = mpiexec(2, &["guidelines", "--blocks", "2000000000"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("padded bytes in all"), "{said}");
    assert_eq!(said.matches("trib: ").count(), 1, "{said}");
}
