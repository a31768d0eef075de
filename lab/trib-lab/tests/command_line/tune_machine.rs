//! Tests `trib-lab tune machine`, and the file that it writes.

use std::process::Command;

use serde_json::Value;

use crate::program::{trib, trib_lab};

const TUNE: [&str; 6] = ["tune", "machine", "--ranks", "4", "--ranks-per-node", "2"];

/// Checks that the file has every cost, measured or marked as built in, and that programs can use the file.
#[test]
fn a_machine_file_is_written_and_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("machine.json").display().to_string();
    let output = trib_lab(&[&TUNE[..], &["--output", &path]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        said.contains("rank_byte_seconds") && said.contains("4 ranks, 2 nodes; messages between ranks of"),
        "{said}"
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let machine: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&machine["version"], &machine["fabric"], &machine["nodes"]), (&1.into(), &"threads".into(), &2.into()));
    let figures = machine["figures"].as_object().unwrap();
    assert_eq!(figures.len(), 11);
    assert!(figures.values().all(|figure| figure.as_f64().unwrap() >= 0.0), "{text}");
    // Threads hand over messages of any size without asking.
    assert!(machine["built_in"].as_array().unwrap().contains(&"eager_limit_bytes".into()), "{text}");

    let hint = format!("trib_machine={path}");
    let replay = ["replay", "e3sm-g", "--ranks", "4", "--ranks-per-node", "2", "--verify", "--hint", &hint];
    let used = Command::new(trib()).args(replay).output().unwrap();
    assert!(used.status.success() && used.stderr.is_empty(), "{}", String::from_utf8_lossy(&used.stderr));
    std::fs::write(&path, text.replace("\"eager_limit_bytes\": ", "\"eager_limit_bytes\": -")).unwrap();
    let warned = Command::new(trib()).args(replay).output().unwrap();
    let line = String::from_utf8(warned.stderr).unwrap();
    assert!(warned.status.success() && line.lines().count() == 1, "{line}");
    assert!(line.starts_with(&format!(
        "tributary: the hint trib_machine is not used: machine file {path}, figure eager_limit_bytes: -8"
    )));
    assert!(
        line.contains("; allowed: a finite number, 0 or more; the library uses built-in and measured costs"),
        "{line}"
    );
}

#[test]
fn all_that_was_measured_is_one_object() {
    let output = trib_lab(&["tune", "machine", "--ranks", "2", "--json"]);
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["machine"]["between"], "ranks of one node");
    let measured = all["measured"].as_array().unwrap();
    let built_in = all["machine"]["built_in"].as_array().unwrap();
    assert_eq!(measured.len() + built_in.len(), 11);
    for figure in measured {
        let name = figure["figure"].as_str().unwrap();
        assert_eq!(figure["value"], all["machine"]["figures"][name]);
        assert!(figure["repetitions"].as_u64().unwrap() >= 3, "{figure}");
    }
}

#[test]
fn what_cannot_be_measured_is_named() {
    for (arguments, expected) in [
        (&["--ranks", "1"][..], "ranks: 1; allowed: 2 or more"),
        (&["--output", "/no/such/folder/machine.json"], "output: /no/such/folder/machine.json: "),
    ] {
        let output = trib_lab(&[&["tune", "machine"][..], arguments].concat());
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && line.starts_with("trib-lab: ") && line.lines().count() == 1, "{line}");
        assert!(line.contains(expected), "{line}");
    }
}
