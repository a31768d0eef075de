//! Tests `trib-lab advise`: hints for the write of a capture.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tributary::Hints;

use crate::program::{trib, trib_lab};

fn capture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../benchmarks/captures")
        .join(format!("{name}.tribcap"))
        .to_str()
        .unwrap()
        .to_string()
}

#[test]
fn the_file_of_hints_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hints");
    let capture = capture("btio");
    let arguments = ["advise", &capture, "--machine", "summit", "--ranks", "256"];
    let output = trib_lab(&[&arguments[..], &["--output", file.to_str().unwrap()]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.contains("TRIB_HINTS=\"") && said.contains("256 ranks on"), "{said}");
    let no_servers = trib_lab(&["advise", &capture, "--machine", "frontier", "--ranks-per-node", "4"]);
    assert!(String::from_utf8_lossy(&no_servers.stdout).contains("without file I/O: --storage MACHINE"));
    assert!(said.contains("MPICH_MPIIO_HINTS=\"*btio.nc:cb_nodes="), "{said}");
    let replay = Command::new(trib())
        .args(["replay", "capture", &capture, "--verify"])
        .env("TRIB_HINTS_FILE", &file)
        .output()
        .unwrap();
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
}

/// Checks that a file of `trib-lab tune machine` is accepted as a machine: without a file system, until one is named.
#[test]
fn the_file_of_tune_machine_is_a_machine() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("machine.json");
    let file = file.to_str().unwrap();
    let tuned = trib_lab(&["tune", "machine", "--ranks", "8", "--ranks-per-node", "4", "--output", file]);
    assert!(tuned.status.success(), "{}", String::from_utf8_lossy(&tuned.stderr));
    let btio = capture("btio");
    let advise = |more: &[&str]| {
        let output = trib_lab(&[&["advise", &btio, "--machine", file], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let without = advise(&[]);
    assert!(without.contains("16 ranks on 4 nodes") && without.contains("without file I/O"), "{without}");
    let with = advise(&["--storage", "summit"]);
    assert!(with.contains("16 ranks on 4 nodes") && !with.contains("without file I/O"), "{with}");
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replace("rank_byte_seconds", "rank_seconds")).unwrap();
    let refused = trib_lab(&["advise", &btio, "--machine", file]);
    let line = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && line.lines().count() == 1, "{line}");
    assert!(line.contains("figure rank_byte_seconds: missing; allowed: a finite number"), "{line}");
}

fn advice(capture: &str, options: &[&str]) -> Value {
    let output = trib_lab(&[&["advise", capture, "--machine", "summit", "--json"], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks that a hint that the report would list as not used is never advised: on one node ranks share memory, unless
/// they may not.
#[test]
fn nothing_is_advised_of_a_write_without_messages() {
    let all = ["btio", "e3sm-g", "flash-checkpoint", "hdf5-chunked", "ior-write", "netcdf4-ocean", "s3d"];
    for name in all {
        let one = advice(&capture(name), &[]);
        let why = one["not_exchanged"].as_str().unwrap();
        assert!(one["nodes"] == 1 && why.contains("on one node of summit, where they share memory"), "{name}: {one}");
        assert!(one["hints"].as_object().unwrap().is_empty(), "{name}: {one}");
    }
    let btio = capture("btio");
    let several = advice(&btio, &["--ranks-per-node", "4"]);
    let is_of_exchanges =
        |of: &Value| of["hints"].as_object().unwrap().keys().any(|key| Hints::is_only_of_exchanges(key));
    assert!(several["not_exchanged"].is_null() && is_of_exchanges(&several), "{several}");
    let apart = advice(&btio, &["--hint", "trib_shared_memory=disable"]);
    assert!(apart["not_exchanged"].is_null() && apart["before_seconds"].as_f64() > Some(0.0), "{apart}");
    let direct = advice(&btio, &["--ranks-per-node", "4", "--hint", "romio_cb_write=disable"]);
    assert_eq!(direct["not_exchanged"], "path direct: romio_cb_write=disable", "{direct}");
    assert!(direct["hints"].as_object().unwrap().is_empty(), "{direct}");
}

/// Checks that the command says, in words and in the file of hints, that nothing is sent.
#[test]
fn that_nothing_is_sent_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hints");
    let output = trib_lab(&["advise", &capture("btio"), "--machine", "summit", "--output", file.to_str().unwrap()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && said.contains("nothing would be sent between ranks (16 ranks on one node"),
        "{said}"
    );
    assert!(
        !said.contains("TRIB_HINTS") && said.contains("docs/tuning.md") && said.contains("--ranks-per-node"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("# {said}"), "a comment and no hint");
}

#[test]
fn bad_input_is_one_line() {
    let btio = capture("btio");
    for (arguments, words) in [
        (&["advise", &btio, "--machine", "nowhere"][..], "machine: nowhere; allowed: a machine file or "),
        (&["advise", &btio, "--machine", "cori-knl", "--ranks", "100"], "a multiple of 16"),
        (
            &["advise", &btio, "--machine", "frontier", "--storage", "frontier"],
            "frontier has no file system; allowed: cori",
        ),
        (&["advise", &btio, "--machine", "cori-knl", "--call", "20"], "--call 20; allowed: 0 to 19"),
        (&["advise", &btio, "--machine", "cori-knl", "--hint", "trib_nothing=1"], "trib_nothing"),
        (&["advise", "nowhere.tribcap", "--machine", "cori-knl"], "nowhere.tribcap"),
    ] {
        let output = trib_lab(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.lines().count() == 1 && said.contains(words), "{arguments:?}: {said}");
    }
}
