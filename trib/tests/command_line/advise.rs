//! `trib advise`: hints for the write of a capture.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn capture(name: &str) -> String {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().into();
    root.join("benchmarks/captures").join(format!("{name}.tribcap")).to_str().unwrap().to_string()
}

fn trib(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trib")).args(arguments).output().unwrap()
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
