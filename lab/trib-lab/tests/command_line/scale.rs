//! Tests `trib-lab scale`.

use serde_json::Value;

use crate::program::{error, said, trib_lab};

fn rows(arguments: &[&str]) -> Vec<Value> {
    let output = trib_lab(&[&["scale", "--json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn all_programs_run_on_the_engine() {
    for machine in ["cori-knl", "hosts-lab"] {
        let rows = rows(&["--machine", machine, "--ranks", "16", "--ranks", "64", "--ranks-per-node", "4"]);
        assert_eq!(rows.len(), 12);
        for row in &rows {
            assert!(row["calls"].as_f64().unwrap() > 0.0 && row["open"].as_f64().unwrap() > 0.0, "{row}");
            assert!(row["of_the_floor"].as_f64().unwrap() >= 0.99, "{row}");
            assert!(row["memory_of_a_rank"].as_u64().unwrap() > 0 && row["messages"].as_u64().unwrap() > 0, "{row}");
            let report = &row["reports"][0];
            assert_eq!(report["bytes"], report["bytes_written"], "{row}");
        }
        let seconds = |rows: &[Value]| rows.iter().map(|row| row["calls"].as_f64().unwrap()).collect::<Vec<_>>();
        let again = self::rows(&["--machine", machine, "--ranks", "16", "--ranks", "64", "--ranks-per-node", "4"]);
        assert_eq!(seconds(&rows), seconds(&again), "the same runs again");
    }
}

#[test]
fn a_pattern_and_hints_may_be_named() {
    let program = ["--program", "btio --grid 12 --iterations 2", "--ranks", "4", "--ranks-per-node", "2"];
    let exchange = ["--hint", "romio_cb_write=enable;romio_cb_read=enable;trib_host_domains=disable"];
    for read in [&[][..], &["--read"]] {
        let row = rows(&[&program[..], &exchange, read].concat()).remove(0);
        let reports = row["reports"].as_array().unwrap();
        assert_eq!(reports.len(), 2);
        assert!(reports.iter().all(|report| report["path"] == "exchange"), "{row}");
    }
    assert!(said(&["scale", "--program", "ior", "--ranks", "16"]).contains("of the floor"));
}

#[test]
fn bad_input_is_refused() {
    for (arguments, words) in [
        (&["--program", "e3sm-q"][..], "pattern: e3sm-q; allowed: a name that"),
        (&["--program", "btio", "--ranks", "7"], "square numbers"),
        (&["--ranks", "0"], "--ranks"),
        (&["--machine", "lassen"], "lassen: it has no [storage]"),
        (&["--machine", "/no/such/file"], "machine: /no/such/file"),
        (&["--program", "ior", "--hint", "trib_kernel=fastest"], "trib_kernel"),
        (&["--program", "ior", "--ranks", "16777216"], "16777216 ranks"),
    ] {
        let line = error(&[&["scale"], arguments].concat());
        assert!(line.contains(words), "{line}");
    }
}
