//! `trib tune kernels`: whether `auto` chooses well, in the simulator.

use std::process::{Command, Output};

use serde_json::Value;

fn tune(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trib")).args(["tune", "kernels"]).args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = tune(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The simulator is deterministic, so that this holds on every machine.
#[test]
fn auto_is_near_the_best_fixed_choice() {
    let patterns = ["--pattern", "e3sm-g", "--pattern", "ior -t 16KiB -b 16KiB -s 64 --one-call"];
    let all = json(&[&["--nodes", "4", "--nodes", "16"][..], &patterns].concat());
    let rows = all["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 16);
    for row in rows {
        let auto = row["auto"].as_f64().unwrap();
        let fixed = row["fixed"].as_object().unwrap();
        let best = fixed.values().filter_map(Value::as_f64).fold(f64::INFINITY, f64::min);
        let balanced = fixed["balanced"].as_f64().unwrap();
        assert!(auto < best * 1.25, "{row:#}");
        assert!(auto < balanced * 1.05, "{row:#}");
    }
    assert!(all["within_5_percent"].as_u64().unwrap() >= 11, "{all:#}");
    assert!(all["gain_over_balanced"].as_f64().unwrap() > 1.3, "{all:#}");
    let order = |key: &str| all["order"][key].as_u64().unwrap();
    assert!(order("right") * 10 >= order("pairs") * 8, "{all:#}");
}

#[test]
fn results_are_kept_and_the_table_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    let (rows, page) = (path("rows.jsonl"), path("page.md"));
    std::fs::write(&page, "Before.\n<!-- trib tune kernels: table --><!-- trib tune kernels: end -->\nAfter.\n")
        .unwrap();
    let common = ["--machine", "summit", "--nodes", "2", "--pattern", "flash", "--resume", &rows, "--markdown", &page];
    let first = tune(&common);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("Before.\n") && written.ends_with("\nAfter.\n"), "{written}");
    assert!(written.contains("| summit | 2 | 84 | flash | "), "{written}");
    // Nothing is simulated again: what is kept is what is shown.
    let kept = std::fs::read_to_string(&rows).unwrap().replace("\"ranks\":84", "\"ranks\":7");
    std::fs::write(&rows, kept).unwrap();
    assert!(tune(&common).status.success());
    assert!(std::fs::read_to_string(&page).unwrap().contains("| summit | 2 | 7 | flash | "));
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let damaged = directory.path().join("rows.jsonl");
    std::fs::write(&damaged, "{\"machine\":1}\n").unwrap();
    let damaged = damaged.to_str().unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--machine", "nowhere"], "machine: nowhere"),
        (&["--pattern", "nothing"], "pattern: nothing"),
        (&["--pattern", "flash --speed 3"], "pattern: flash --speed 3"),
        (&["--pattern", "wrf", "--nodes", "1"], "--trace FILE is missing"),
        (&["--resume", damaged], "resume: "),
        (&["--markdown", damaged], "markdown: "),
    ];
    for (arguments, says) in cases {
        let output = tune(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(says), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
    }
}
