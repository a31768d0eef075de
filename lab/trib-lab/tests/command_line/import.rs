//! Tests `trib-lab import`: captures made of traces of Darshan.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{error, said, trib};

/// Returns a trace in the format of darshan-dxt-parser: two ranks on two hosts, two files, on Lustre.
fn trace() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/darshan_dxt.txt")).unwrap()
}

/// Returns the output of a command of `trib`.
fn by_trib(arguments: &[&str]) -> String {
    let output = Command::new(trib()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Imports a log. Returns the contents of the capture, and the printed text.
fn imported(log: &str, more: &[&str]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    let [log_path, capture] = ["log", "capture"].map(|name| directory.path().join(name).to_str().unwrap().to_string());
    std::fs::write(&log_path, log).unwrap();
    said(&[&["import", &log_path, "--output", &capture], more].concat());
    let info: Value = serde_json::from_str(&by_trib(&["capture", "info", &capture, "--json"])).unwrap();
    let lists = (0u64..).take_while(|call| Some(*call) != info["calls"].as_u64());
    let lists = lists.map(|call: u64| by_trib(&["capture", "export", &capture, "--call", &call.to_string()]));
    let lists = lists
        .map(|list| list.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>();
    (info, lists.join("; "))
}

fn refused(log: &str, more: &[&str], words: &str) {
    let directory = tempfile::tempdir().unwrap();
    let [log_path, capture] = ["log", "capture"].map(|name| directory.path().join(name).to_str().unwrap().to_string());
    std::fs::write(&log_path, log).unwrap();
    let line = error(&[&["import", &log_path, "--output", &capture], more].concat());
    assert!(line.contains(words), "{words}: {line}");
    assert!(!Path::new(&capture).exists(), "{words}: there is a capture");
}

const OUT: [&str; 2] = ["--file", "/scratch/out.h5"];

#[test]
fn segments_become_calls() {
    let (info, lists) = imported(&trace(), &OUT);
    let header = &info["header"];
    assert_eq!((&header["ranks"], &header["nodes"]), (&json!(3), &json!([[0, 1], [1, 2]])), "{info}");
    assert_eq!((&header["driver"], &header["unit"], &header["factor"]), (&json!("lustre"), &json!(65536), &json!(4)));
    assert_eq!((&header["program"], &header["opened"]), (&json!("./model -n 2"), &json!(1_594_155_460.5)));
    let calls = [
        "ranks 3 rank 0 0 1000 2000 1000 rank 1 1000 1000 3000 1000 rank 2",
        "ranks 3 rank 0 0 96 rank 1 rank 2",
        "ranks 3 rank 0 0 4000 rank 1 0 4000 rank 2",
    ];
    assert_eq!(lists, calls.join("; "));
    let (_, joined) = imported(&trace(), &[&OUT[..], &["--gap", "1"]].concat());
    assert_eq!(joined, lists, "what is written again stays another call");
}

#[test]
fn a_file_of_one_module_is_imported_without_its_name() {
    let (info, lists) = imported(&trace(), &["--module", "posix"]);
    assert_eq!(info["header"]["file"], "/scratch/out.h5");
    assert_eq!(lists, "ranks 3 rank 0 0 4000 rank 1 rank 2");
}

#[test]
fn other_commands_take_the_capture() {
    let directory = tempfile::tempdir().unwrap();
    let [log, capture] = ["log", "capture"].map(|name| directory.path().join(name).to_str().unwrap().to_string());
    std::fs::write(&log, trace()).unwrap();
    let line = said(&[&["import", &log, "--output", &capture], &OUT[..]].concat());
    assert!(line.contains("3 calls of /scratch/out.h5 by 3 ranks, 7 segments of DXT_MPIIO"), "{line}");
    let replayed = by_trib(&["replay", "capture", &capture, "--verify", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&replayed).unwrap()["verified"], true, "{replayed}");
    assert!(said(&["picture", "capture", &capture]).starts_with("<svg"));
    assert!(by_trib(&["explain", &capture]).contains("3 collective calls on /scratch/out.h5"));
}

/// Returns records in the form in which `json.dumps` writes those of PyDarshan.
fn records() -> Value {
    let segment = |offset: i64, length: i64, start: f64| json!({ "offset": offset, "length": length, "start_time": start, "end_time": start + 0.5 });
    let record = |rank: usize, writes: Vec<Value>| {
        json!({ "id": 10384774853006289996_u64, "rank": rank, "hostname": "n0", "write_count": writes.len(), "read_count": 0,
                "write_segments": writes, "read_segments": [] })
    };
    json!({
        "metadata": { "job": { "nprocs": 2, "start_time_sec": 7, "log_ver": "3.41", "metadata": {} }, "exe": "./model" },
        "name_records": { "10384774853006289996": "out.nc" },
        "records": { "DXT_MPIIO": [record(0, vec![segment(0, 8, 0.0), segment(16, 8, 1.0)]), record(1, vec![segment(8, 8, 0.25)])] },
    })
}

#[test]
fn the_records_of_pydarshan_become_calls() {
    let (info, lists) = imported(&records().to_string(), &[]);
    assert_eq!((&info["header"]["file"], &info["header"]["nodes"]), (&json!("out.nc"), &json!([[0, 2]])));
    assert_eq!(lists, "ranks 2 rank 0 0 8 rank 1 8 8; ranks 2 rank 0 16 8 rank 1");
    for (at, value, words) in [
        ("/records/DXT_MPIIO/0/write_segments/1/offset", json!(-5), "rank 0 of out.nc: offset -5; allowed"),
        ("/records/DXT_MPIIO/0/write_segments/1/length", json!(i64::MAX), "allowed: 0 to 2^63 - 1"),
        ("/records/DXT_MPIIO/0/write_segments/1/start_time", json!(1e300), "seconds; allowed"),
        ("/records/DXT_MPIIO/0/write_count", json!(3), "cut: rank 0 has 2 writes"),
        ("/records/DXT_MPIIO/1/rank", json!(2), "rank 2; allowed: 0 to 1"),
        ("/records/DXT_MPIIO/1/write_segments/0/offset", json!(7), "ranks 0 and 1 wrote byte 7 at the same time"),
        ("/metadata/job/nprocs", json!(1_u64 << 60), "nprocs: 1152921504606846976; allowed"),
        ("/records/DXT_MPIIO", json!([]), "no trace of a file"),
        ("/records", json!(7), "allowed: PyDarshan's"),
    ] {
        let mut wrong = records();
        *wrong.pointer_mut(at).unwrap() = value;
        refused(&wrong.to_string(), &[], words);
    }
    let whole = records().to_string();
    refused(&whole[..whole.len() / 2], &[], "allowed: PyDarshan's");
}

#[test]
fn bad_input_is_one_line() {
    let whole = trace();
    refused(&whole, &[], "--file is missing: the log has 2 files: /scratch/out.h5 (DXT_MPIIO, 12,096 bytes)");
    refused(&whole, &["--file", "nowhere"], "--file nowhere: not in the log; allowed: /scratch/out.h5");
    refused(&whole, &["--file", "/scratch/empty", "--module", "mpiio"], "/scratch/empty: DXT_MPIIO has no byte of it");
    refused(&whole, &[&OUT[..], &["--gap=-1"]].concat(), "--gap");
    refused("", &[], "no text of a Darshan log");
    refused("# some notes\n", &[], "no text of a Darshan log");
    refused("\u{1}\u{2}binary", &[], "line 1: no line of darshan-dxt-parser");
    refused("# darshan log version: 3.41\n# no DXT module data available\n", &[], "no trace of a file");
    let last = whole.trim_end().len();
    refused(&whole[..last - 20], &OUT, "cut before its end");
    refused(&whole[..whole.trim_end().rfind('\n').unwrap()], &OUT, "cut: rank 1 has");
    let write = " X_MPIIO       1  write        0            1000";
    for (other, words) in [
        (" X_MPIIO       1  write        0           -1000", "offset -1000; allowed: 0 to 2^63 - 1"),
        (" X_MPIIO       1  write        0 9223372036854775807", "allowed: 0 to 2^63 - 1"),
        (" X_MPIIO       1  write        0 99999999999999999999999999999999999999999999", "allowed: 0 to 2^63 - 1"),
        (" X_MPIIO       1  write        0             900", "ranks 0 and 1 wrote byte 900 at the same time"),
        (" X_MPIIO       0  write        0            1000", "a segment of rank 0; allowed: those of rank 1"),
        (" X_POSIX       1  write        0            1000", "allowed: those of rank 1 in DXT_MPIIO"),
        (" X_MPIIO       1  write        1            1000", "write 1; allowed: 0, the next"),
        (" X_MPIIO       1 append        0            1000", "append; allowed: write, read"),
    ] {
        assert!(whole.contains(write));
        refused(&whole.replace(write, other), &OUT, words);
    }
    refused(&whole.replace("# nprocs: 3", "# nprocs: 1"), &OUT, "rank 1; allowed: 0 to 0");
    refused(&whole.replace("# nprocs: 3", "# nprocs: many"), &OUT, "nprocs: many");
    assert!(error(&["import", "/nowhere/log", "--output", "/nowhere/capture"]).contains("/nowhere/log"));
}
