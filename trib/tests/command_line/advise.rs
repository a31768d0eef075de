//! `trib advise`: hints for the write of a capture.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn capture(name: &str) -> String {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into();
    root.join("benchmarks/captures").join(format!("{name}.tribcap")).to_str().unwrap().to_string()
}

fn trib(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trib")).args(arguments).output().unwrap()
}

fn advice(arguments: &[&str]) -> Value {
    let output = trib(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Seconds of the write of a capture as `trib sim write` has them.
fn simulated(capture: &str, machine: &str, hints: &[String]) -> f64 {
    let mut arguments =
        vec!["sim", "write", "capture", capture, "--machine", machine, "--json", "--sample", "2", "--write-behind"];
    hints.iter().for_each(|hint| arguments.extend(["--hint", hint]));
    advice(&arguments)["seconds"]["last"]["total"].as_f64().unwrap()
}

/// What is said to be gained is what the simulator says of the defaults and of the advice.
#[test]
fn the_gain_is_the_simulators() {
    for (name, machine) in [("btio", "summit"), ("s3d", "cori-knl"), ("hdf5-chunked", "perlmutter")] {
        let capture = capture(name);
        let advised = advice(&["advise", &capture, "--machine", machine, "--json"]);
        let [before, after, gain] =
            ["before_seconds", "after_seconds", "gain"].map(|key| advised[key].as_f64().unwrap());
        assert!(after <= before && (gain - before / after).abs() < 1e-9, "{name}: {advised}");
        let hints = advised["hints"].as_object().unwrap();
        let hints: Vec<String> =
            hints.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
        if name != "hdf5-chunked" {
            // Its largest call is not its first.
            assert!((simulated(&capture, machine, &[]) - before).abs() <= 1e-9 * before, "{name}");
            assert!((simulated(&capture, machine, &hints) - after).abs() <= 1e-9 * after, "{name}");
        }
        let trials = advised["trials"].as_array().unwrap();
        assert!(trials.len() > 40, "{name}: {} trials", trials.len());
        let least = trials.iter().filter_map(|trial| trial["seconds"].as_f64()).fold(f64::INFINITY, f64::min);
        assert!(after <= least * 1.01 + 1e-12, "{name}: the best of all that was tried is {least}");
    }
}

#[test]
fn the_file_of_hints_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hints");
    let capture = capture("btio");
    let table = directory.path().join("advice");
    let arguments = ["advise", &capture, "--machine", "summit", "--ranks", "256"];
    let files = ["--output", file.to_str().unwrap(), "--advice", table.to_str().unwrap()];
    let output = trib(&[&arguments[..], &files[..]].concat());
    let line = std::fs::read_to_string(&table).unwrap();
    assert!(line.starts_with('#') && line.contains("\n*btio.nc:cb_nodes="), "{line}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("TRIB_HINTS=\"") && said.contains("256 ranks on"), "{said}");
    let no_servers = trib(&["advise", &capture, "--machine", "frontier"]);
    assert!(String::from_utf8_lossy(&no_servers.stdout).contains("without the file servers"));
    assert!(said.contains("MPICH_MPIIO_HINTS=\"*btio.nc:cb_nodes="), "{said}");
    let replay = Command::new(env!("CARGO_BIN_EXE_trib"))
        .args(["replay", "capture", &capture, "--verify"])
        .env("TRIB_HINTS_FILE", &file)
        .output()
        .unwrap();
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
}

#[test]
fn bad_input_is_one_line() {
    let btio = capture("btio");
    for (arguments, words) in [
        (&["advise", &btio, "--machine", "nowhere"][..], "machine: nowhere"),
        (&["advise", &btio, "--machine", "cori-knl", "--ranks", "100"], "a multiple of 16"),
        (&["advise", &btio, "--machine", "cori-knl", "--call", "20"], "--call 20; allowed: 0 to 19"),
        (&["advise", &btio, "--machine", "cori-knl", "--hint", "trib_nothing=1"], "trib_nothing"),
        (&["advise", "nowhere.tribcap", "--machine", "cori-knl"], "nowhere.tribcap"),
    ] {
        let output = trib(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.lines().count() == 1 && said.contains(words), "{arguments:?}: {said}");
    }
}
