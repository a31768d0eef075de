//! `trib tune collectives` and `trib hsumma` as their users call them.

use std::process::{Command, Output};

use serde_json::Value;

fn trib(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.env_remove("TRIB_HINTS").env_remove("TRIB_HINTS_FILE");
    command.args(arguments).output().unwrap()
}

fn said(arguments: &[&str]) -> String {
    let output = trib(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line of an error; nothing is on standard output, and the exit code is not 0.
fn error(arguments: &[&str]) -> String {
    let output = trib(arguments);
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    assert!(line.starts_with("trib: ") && line.trim_end().lines().count() == 1, "{line}");
    line
}

const QUICK: [&str; 8] = ["tune", "collectives", "--ranks", "4", "--quick", "--most", "3", "--bytes"];

#[test]
fn a_tuned_table_is_written_and_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tuned.json").display().to_string();
    let summary = said(&[&QUICK[..], &["64", "--output", &path]].concat());
    assert!(summary.contains(&format!("5 entries in {path}")), "{summary}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"version\": 1,\n  \"fabric\": \"threads\"") && text.contains("\"ranks\":4,\"bytes\":64,"));
    let hint = format!("trib_tuned_table={path}");
    let replay = ["replay", "e3sm-f", "--ranks", "4", "--verify", "--json"];
    let sha256 = |output: String| serde_json::from_str::<Value>(&output).unwrap()["sha256"].clone();
    assert_eq!(sha256(said(&[&replay[..], &["--hint", &hint]].concat())), sha256(said(&replay)));
    std::fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    let refused = error(&[&replay[..], &["--hint", &hint]].concat());
    assert!(refused.contains(&format!("tuned table {path}: version 2; allowed: a table of version 1")), "{refused}");
}

#[test]
fn a_table_is_printed_or_all_that_was_measured() {
    let arguments = [&QUICK[..], &["64", "--bytes", "1k", "--operation", "broadcast"]].concat();
    let text = said(&arguments);
    assert_eq!(text.lines().filter(|line| line.contains("\"operation\":\"broadcast\"")).count(), 2, "{text}");
    let all: Value = serde_json::from_str(&said(&[&arguments[..], &["--json"]].concat())).unwrap();
    assert_eq!(all["table"]["entries"].as_array().unwrap().len(), 2);
    // Eight algorithms as they are and in two groups, at two sizes.
    assert_eq!(all["measured"].as_array().unwrap().len(), 8 * 2 * 2);
}

#[test]
fn what_cannot_be_tuned_is_named() {
    for (arguments, expected) in [
        (&["--bytes", "12"][..], "bytes: 12; allowed: a multiple of 8"),
        (&["--operation", "allgather"], "allowed: broadcast, reduce, allreduce, gather, scatter"),
        (&["--least", "1"], "minimum repetitions: 1; allowed: 2 or more"),
        (&["--least", "9", "--most", "8"], "maximum repetitions: 8; allowed: 9 or more"),
        (&["--confidence", "1.5"], "confidence: 1.5; allowed: between 0 and 1"),
        (&["--ranks", "0"], "allowed: 1 to 32768"),
        (&["--ranks", "2", "--quick", "--bytes", "8", "--output", "nowhere/table"], "nowhere/table: No such file"),
    ] {
        let line = error(&[&["tune", "collectives"], arguments].concat());
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn hsumma_is_right_and_its_communication_stands_apart() {
    let arguments = ["hsumma", "--ranks", "6", "--groups", "1x3", "--n", "48", "--block", "4", "--outer-block", "8"];
    let table = said(&arguments);
    assert!(
        table.contains("48 x 48, on 2 x 3 ranks, broadcast binomial") && table.contains("communication s"),
        "{table}"
    );
    let all: Value = serde_json::from_str(&said(&[&arguments[..], &["--json"]].concat())).unwrap();
    for name in ["summa", "hsumma"] {
        assert_eq!(all[name]["verified"], true);
        for key in ["communication", "computation", "total"] {
            assert!(all[name]["seconds"][key].as_f64().unwrap() >= 0.0, "{name} {key}");
        }
    }
    assert_eq!((&all["summa"]["groups"], &all["hsumma"]["groups"]), (&[1, 1][..].into(), &[1, 3][..].into()));
}

#[test]
fn what_does_not_fit_hsumma_is_named() {
    for (arguments, expected) in [
        (&["--grid", "3x5"][..], "grid: 3x5; allowed: rows and columns whose product is 16"),
        (&["--groups", "3x2"], "rows of groups: 3; allowed: a divisor of 4"),
        (&["--groups", "2"], "2 numbers of 1 or more, separated by x"),
        (&["--n", "510"], "n: 510; allowed: a multiple of 4"),
        (&["--block", "24"], "outer block: 24; allowed: a divisor of 128"),
        (&["--block", "24", "--outer-block", "64"], "block: 24; allowed: a divisor of 64"),
        (&["--broadcast", "radio"], "allowed: flat, chain, pipeline"),
        (&["--segment", "12"], "allowed: a multiple of 8 above 0"),
    ] {
        let line = error(&[&["hsumma"], arguments].concat());
        assert!(line.contains(expected), "{line}");
    }
}
