//! Tests `trib-lab tune kernels`: whether `auto` chooses good kernels, in the simulator.

use std::process::Output;

use serde_json::Value;
use tributary::exchange::KERNELS;

use crate::program;

fn tune(arguments: &[&str]) -> Output {
    program::trib_lab(&[&["tune", "kernels"], arguments].concat())
}

fn json(arguments: &[&str]) -> Value {
    program::json(&[&["tune", "kernels"], arguments, &["--json"]].concat())
}

/// Checks `auto` in the simulator, which is deterministic, so that the result holds on every machine.
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
    std::fs::write(
        &page,
        "Before.\n<!-- trib-lab tune kernels: table --><!-- trib-lab tune kernels: end -->\nAfter.\n",
    )
    .unwrap();
    let common = ["--machine", "summit", "--nodes", "2", "--pattern", "flash", "--resume", &rows, "--markdown", &page];
    let first = tune(&common);
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("Before.\n") && written.ends_with("\nAfter.\n"), "{written}");
    assert!(written.contains("| summit | 2 | 84 | flash | "), "{written}");
    // Nothing is simulated again: the kept rows are shown.
    let kept = std::fs::read_to_string(&rows).unwrap().replace("\"ranks\":84", "\"ranks\":7");
    std::fs::write(&rows, kept).unwrap();
    assert!(tune(&common).status.success());
    assert!(std::fs::read_to_string(&page).unwrap().contains("| summit | 2 | 7 | flash | "));
}

/// Simulates the largest write of a capture of 6 ranks on nodes of 42 ranks, where a few counted ranks stand for all;
/// captures have their own table.
#[test]
fn captures_are_simulated_on_more_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    let (corpus, page) = (path("corpus"), path("page.md"));
    std::fs::create_dir(&corpus).unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/captures/netcdf4-ocean.tribcap");
    std::fs::copy(capture, format!("{corpus}/ocean.tribcap")).unwrap();
    let tables = "<!-- trib-lab tune kernels: table -->Patterns.<!-- trib-lab tune kernels: end -->\n\
        <!-- trib-lab tune kernels --capture: table --><!-- trib-lab tune kernels --capture: end -->\n";
    std::fs::write(&page, tables).unwrap();
    let arguments = ["--machine", "summit", "--nodes", "2", "--capture", &corpus, "--markdown", &page];
    let all = json(&arguments);
    let row = &all["rows"][0];
    assert_eq!((&row["pattern"], &row["ranks"]), (&"capture ocean".into(), &84.into()));
    assert!(row["auto"].as_f64().unwrap() > 0.0 && all["rows"].as_array().unwrap().len() == 1, "{all:#}");
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("table -->Patterns.<!--") && written.contains("| summit | 2 | 84 | capture ocean | "));
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let damaged = directory.path().join("rows.jsonl");
    std::fs::write(&damaged, "{\"machine\":1}\n").unwrap();
    let damaged = damaged.to_str().unwrap();
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["--capture", "no/such/folder"], "capture: no/such/folder"),
        (&["--capture", empty.to_str().unwrap()], "no captures; allowed: a folder with files NAME.tribcap"),
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

/// Measures four small writes of a list on threads, as two nodes, with every choice.
#[test]
fn what_is_measured_is_kept_and_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_string();
    let (rows, page, file) = (path("rows.jsonl"), path("page.md"), path("written"));
    std::fs::write(
        &page,
        "<!-- trib-lab tune kernels --measure: table --><!-- trib-lab tune kernels --measure: end -->\nAfter.\n",
    )
    .unwrap();
    let common = ["--measure", "threads", "--ranks", "6", "--ranks-per-node", "3", "--file", &file];
    let kept = ["--resume", &rows, "--markdown", &page, "--turns", "2", "--passes", "3"];
    let pattern = ["--pattern", "ior -t 512 -b 512 -s 40 --one-call"];
    let all = json(&[&common[..], &kept, &pattern].concat());
    let row = &all["rows"][0];
    assert_eq!((&row["ranks"], &row["nodes"], &row["library"]), (&6.into(), &2.into(), &"threads".into()));
    for times in [&row["first"], &row["again"]] {
        let times = times.as_object().unwrap();
        let names: Vec<_> = times.keys().map(String::as_str).collect();
        let more = ["auto", "balanced, no throttle", "balanced, window of 50", "two_layer, 1 per node"];
        let mut choices: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).chain(more).collect();
        choices.sort();
        assert_eq!(names, choices);
        for times in times.values() {
            assert!(times.as_array().unwrap().len() == 2 && times[0].as_f64().unwrap() > 0.0, "{times}");
        }
    }
    assert_eq!((&all["first"]["cases"], &all["again"]["cases"]), (&1.into(), &1.into()));
    assert!(!std::path::Path::new(&file).exists());
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("| threads | 6 | 2 | ior -t 512 ") && written.ends_with("\nAfter.\n"), "{written}");
    // Nothing is measured again.
    let changed = std::fs::read_to_string(&rows).unwrap().replace("\"chosen\":\"", "\"chosen\":\"kept ");
    std::fs::write(&rows, changed).unwrap();
    let again = json(&[&common[..], &kept, &pattern].concat());
    assert!(again["rows"][0]["chosen"].as_str().unwrap().starts_with("kept "), "{again:#}");
    assert_eq!(again["rows"].as_array().unwrap().len(), 1);
    // Rows that were measured in another manner are not mixed in.
    let other = ["--resume", &rows, "--turns", "3", "--passes", "3"];
    let output = tune(&[&common[..], &other, &pattern].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("has rows with --turns 2, --passes 3, a file in "), "{said}");
}

/// Checks that captures of other numbers of ranks are left out, with a line for each.
#[test]
fn captures_of_so_many_ranks_are_measured() {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benchmarks/captures");
    let common = ["--measure", "threads", "--ranks", "6", "--ranks-per-node", "2", "--turns", "1"];
    let pattern = ["--pattern", "ior -t 512 -b 512"];
    let all = json(&[&common[..], &["--capture", captures], &pattern].concat());
    let names: Vec<_> = all["rows"].as_array().unwrap().iter().map(|row| row["pattern"].as_str().unwrap()).collect();
    let due = ["capture hdf5-chunked", "capture hdf5-deflate", "capture netcdf4-ocean", "ior -t 512 -b 512"];
    assert_eq!(names, due);
    let left_out: Vec<_> = all["left_out"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(left_out.contains(&"capture btio: of 16 ranks, not 6"), "{left_out:?}");
}

#[test]
fn bad_measurements_are_refused_at_the_door() {
    let directory = tempfile::tempdir().unwrap();
    let (empty, full) = (directory.path().join("empty"), directory.path().join("full"));
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(&full, "precious").unwrap();
    let [empty, full] = [&empty, &full].map(|path| path.to_str().unwrap());
    let cases: [(&[&str], &str); 8] = [
        (&["--measure", "threads", "--capture", empty], "no captures; allowed: a folder with files NAME.tribcap"),
        (&["--measure", "threads", "--ranks-per-node", "3"], "ranks-per-node: 3; allowed: a divisor of 8"),
        (&["--measure", "threads", "--ranks-per-node", "0"], "ranks-per-node: 0; allowed: a divisor of 8"),
        (&["--measure", "threads", "--machine", "summit"], "cannot be used with"),
        (&["--measure", "threads", "--file", full], "allowed: a new file"),
        (&["--measure", "threads", "--pattern", "btio"], "square"),
        (&["--measure", "threads", "--markdown", full], "markdown: "),
        (&["--ranks-per-node", "2"], "--measure"),
    ];
    for (arguments, says) in cases {
        let output = tune(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(says), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(full).unwrap(), "precious");
}
