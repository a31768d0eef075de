//! Tests `trib-lab sim`.

use std::process::Command;

use tributary::hints::KernelHint;

use crate::program::{TRIB_LAB, error, json, said, trib_lab};
use tributary_testing::small;

const MEASURED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cori_all_to_many.csv");

#[test]
fn all_to_many_has_the_parts_of_the_cori_program() {
    let small = ["sim", "all-to-many", "--ranks", "128", "--receivers", "2", "--iterations", "3", "--json", "--kernel"];
    for kernel in KernelHint::all() {
        let layers = kernel == KernelHint::TwoLayer;
        let kernel = &*kernel.to_string();
        let run = json(&[&small[..], &[kernel]].concat());
        let seconds = |part: &str| run["seconds"][part].as_f64().unwrap();
        assert!(seconds("total") > 0.0 && seconds("total") >= seconds("waiting"), "{run}");
        assert!(seconds("post_receives") > 0.0 && seconds("post_sends") > 0.0, "{run}");
        assert_eq!(seconds("gather") > 0.0, layers, "{run}");
        let messages = if layers { 3 * (126 + 2) } else { 3 * 127 * 2 };
        assert_eq!(run["messages"], messages);
        assert_eq!(run, json(&[&small[..], &[kernel]].concat()), "the same run again");
    }
}

#[test]
fn every_machine_runs_and_names_its_sources() {
    let machines = json(&["sim", "machines", "--json"]);
    let machines = machines.as_array().unwrap();
    assert_eq!(machines.len(), 13);
    for machine in machines {
        let name = machine["name"].as_str().unwrap();
        for figure in machine["figures"].as_object().unwrap().values() {
            let known = ["quoted", "fitted", "assumed"].contains(&figure["origin"].as_str().unwrap());
            assert!(known && !figure["note"].as_str().unwrap().is_empty(), "{name}: {figure}");
        }
        let run = ["sim", "all-to-many", "--ranks", "100", "--receivers", "3", "--json", "--machine", name];
        assert!(json(&run)["seconds"]["total"].as_f64().unwrap() > 0.0);
    }
}

/// Checks the prediction for three kernels and two processors with one set of parameters, on an excerpt of the
/// measurements.
#[test]
fn cori_is_predicted() {
    let fit = json(&["sim", "fit", MEASURED, "--json"]);
    assert_eq!(fit["fitted"]["rows"], 11);
    assert!(fit["fitted"]["median"].as_f64().unwrap() < 0.15, "{fit}");
    assert!(fit["fitted"]["worst"].as_f64().unwrap() < 0.40, "{fit}");
    let large = json(&["sim", "fit", MEASURED, "--json", "--largest", "100000"]);
    assert_eq!((&large["fitted"]["rows"], &large["predicted"]["rows"]), (&8.into(), &3.into()));
}

/// Checks that each kind of rows is left out once, and predicted from rough costs: within a factor of three.
#[test]
fn kinds_are_left_out_in_turn() {
    let fits = json(&["sim", "fit", MEASURED, "--leave-out", "--largest", "40000", "--json"]);
    let kinds: Vec<&str> = fits.as_array().unwrap().iter().filter_map(|fit| fit["left_out"].as_str()).collect();
    let kernels = ["kernel ascending_isend", "kernel ascending_issend", "kernel two_layer"];
    let others = ["ranks 2048", "ranks 4352", "ranks 512", "machine cori-haswell", "machine cori-knl"];
    assert_eq!(kinds, [&kernels[..], &others].concat());
    for fit in &fits.as_array().unwrap()[1..] {
        let (kind, value) = fit["left_out"].as_str().unwrap().split_once(' ').unwrap();
        for row in fit["rows"].as_array().unwrap() {
            let of = row[kind].as_str().map_or_else(|| row[kind].to_string(), str::to_string);
            assert_eq!(row["fitted"] == false, of == value, "{row}");
        }
        assert!(fit["predicted"]["rows"].as_u64() > Some(0) && fit["predicted"]["worst"].as_f64() < Some(2.0), "{fit}");
    }
}

#[test]
fn a_fit_is_no_worse_than_its_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let (rows, machine) = (directory.path().join("rows.csv"), directory.path().join("machine.toml"));
    let measured = std::fs::read_to_string(MEASURED).unwrap();
    std::fs::write(&rows, measured.lines().take(3).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let knl = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/cori-knl.toml");
    let text = std::fs::read_to_string(knl).unwrap();
    let wrong = text.replace("receive = { value = 100, unit = \"us\"", "receive = { value = 300, unit = \"us\"");
    assert_ne!(wrong, text);
    std::fs::write(&machine, wrong).unwrap();
    let fit = |rounds| {
        let (rows, machine) = (rows.to_str().unwrap(), machine.to_str().unwrap());
        let fit = json(&["sim", "fit", rows, "--machine", machine, "--rounds", rounds, "--json"]);
        fit["fitted"]["worst"].as_f64().unwrap()
    };
    assert!(fit("1") < fit("0"));
}

/// Checks that the command runs, not what it measures: other programs share the machine.
#[test]
fn this_machine_is_measured_fitted_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("here.toml");
    let path = file.to_str().unwrap();
    let run = json(&["sim", "validate", "--quick", "--rounds", "2", "--output", path, "--json"]);
    let rows = run["rows"].as_array().unwrap();
    for fitted in [true, false] {
        let of = rows.iter().filter(|row| row["fitted"] == fitted).count();
        assert!(of > 3 && run[if fitted { "fitted" } else { "predicted" }]["rows"] == of, "{run}");
    }
    for row in rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("measured") > 0.0 && number("simulated") > 0.0 && number("error") >= 0.0, "{row}");
    }
    let machine = json(&["sim", "machines", path, "--json"]);
    assert_eq!(machine["figures"]["host.send"]["origin"], "fitted");
    assert_eq!(machine["figures"]["host.send"]["note"], "trib-lab sim validate, threads");
    let ranks = ["sim", "all-to-many", "--ranks", "8", "--receivers", "2", "--machine", path, "--json"];
    assert!(json(&ranks)["seconds"]["total"].as_f64().unwrap() > 0.0);
}

#[test]
fn goal_in_both_forms() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["out.goal", "out.bin"] {
        let file = directory.path().join(name);
        let path = file.to_str().unwrap();
        let output = trib_lab(&["sim", "all-to-many", "--ranks", "16", "--receivers", "2", "--goal", path]);
        assert!(output.status.success());
        let bytes = std::fs::read(&file).unwrap();
        match name {
            "out.goal" => assert!(bytes.starts_with(b"num_ranks 16\nrank 0 {\n")),
            _ => assert_eq!(bytes[..12], [0x7f, 0x10, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0]),
        }
    }
}

/// Checks that links are occupied only where the options ask for it.
#[test]
fn links_are_off_until_they_are_asked_for() {
    let run = |machine: &str, more: &[&str]| {
        let exchange = ["sim", "all-to-many", "--ranks", "256", "--ranks-per-node", "1", "--receivers", "64", "--json"];
        let sizes = ["--message", "100000..100000", "--no-connections", "--kernel", "spread_out", "--machine", machine];
        let run = json(&[&exchange[..], &sizes[..], more].concat());
        (run["seconds"]["total"].as_f64().unwrap(), run["links"].as_bool().unwrap())
    };
    for machine in ["cori-knl", "summit"] {
        let ((off, no), (held, yes)) = (run(machine, &[]), run(machine, &["--links"]));
        assert!(held > off && yes && !no, "{machine}: {held} {off}");
        assert_eq!(run(machine, &["--links"]).0, held);
    }
}

#[test]
fn bad_input_is_one_line() {
    let run = |more: &[&str]| error(&[&["sim", "all-to-many", "--ranks", "64", "--receivers", "2"], more].concat());
    assert!(run(&["--machine", "deep-thought"]).contains("machine: deep-thought; allowed: "));
    let write =
        ["sim", "write", "btio", "--grid", "64", "--iterations", "1", "--ranks", "16", "--empty-steps", "--kernel"];
    assert!(error(&[&write[..], &["balanced"]].concat()).contains("--empty-steps: allowed with --kernel pairwise"));
    assert!(trib_lab(&[&write[..], &["pairwise"]].concat()).status.success());
    assert!(run(&["--kernel", "pigeon"]).contains(KernelHint::allowed()));
    assert!(run(&["--iterations", "0"]).contains("'--iterations <N>': allowed: 1 to 16777216"));
    assert!(run(&["--message", "9..1"]).contains("MIN..MAX"));
    assert!(run(&["--noise", "7"]).contains("noise: 7; allowed: 0 to 1"));
    assert!(run(&["--machine", "laptop", "--links"]).contains("links: laptop has none"));
    assert!(error(&["sim", "validate", "--output", "/no/such/place/here.toml"]).contains("output: /no/such/place"));
    let nothing = ["sim", "validate", "--hosts", "2", "--quick", "--no-measure", "--resume", "/no/such/rows"];
    assert!(error(&nothing).contains("resume: /no/such/rows has no measurement of 2 hosts"));
    let none = error(&["sim", "all-to-many", "--ranks", "64", "--receivers", "0"]);
    assert!(none.contains("'--receivers <R>': allowed: 1 to 16777216"));
    let large = ["sim", "all-to-many", "--ranks", "100000", "--receivers", "50", "--kernel", "ascending_isend"];
    assert!(
        error(&[&large[..], &["--iterations", "100000"]].concat()).contains("100000 ranks with 499995000000 messages")
    );
}

#[test]
fn a_write_has_parts_and_says_what_it_simulated() {
    let small = ["sim", "write", "btio", "--grid", "64", "--iterations", "2", "--call", "1", "--ranks", "64", "--json"];
    let stripes = ["--ranks-per-node", "8", "--hint", "striping_factor=4;striping_unit=64K;cb_buffer_size=64K"];
    for kernel in KernelHint::all().map(|kernel| kernel.to_string()) {
        for more in
            [&["--list-form", "pairs", "--throttle-steps"][..], &["--write-behind", "--sample", "3"], &["--no-io"]]
        {
            let run = json(&[&small[..], &stripes, &["--kernel", &kernel], more].concat());
            let seconds = |part: &str| run["seconds"]["last"][part].as_f64().unwrap();
            let parts = ["metadata", "data", "file", "other"].map(seconds);
            assert!((parts.iter().sum::<f64>() / seconds("total") - 1.0).abs() < 1e-9, "{run}");
            assert!(parts[0] > 0.0 && parts[1] > 0.0 && (parts[2] > 0.0) == (more[0] != "--no-io"), "{run}");
            // 10 MiB in stripes of 64 KiB over 4 aggregators; the second call begins inside a round.
            assert!([40, 41].contains(&run["rounds"]["all"].as_u64().unwrap()), "{run}");
            assert_eq!(run["rounds"]["simulated"] == 3, more.contains(&"3"), "{run}");
        }
    }
    let text = trib_lab(&["sim", "write", "ior", "--ranks", "32", "--machine", "summit", "--sample", "1"]);
    assert!(text.status.success() && !text.stdout.is_empty());
}

#[test]
fn bad_writes_are_refused_before_they_run() {
    for (arguments, words) in [
        (&["e3sm-f", "--machine", "quartz"][..], "it has no [storage]"),
        (&["e3sm-f", "--driver", "auto"], "lustre|gpfs|posix"),
        (&["e3sm-f", "--kernel", "fastest"], "trib_kernel"),
        (&["e3sm-f", "--call", "7"], "call: 7; allowed: 0 to 0"),
        (&["e3sm-f", "--machine", "/no/such/file"], "machine: /no/such/file"),
        (&["btio", "--ranks", "7"], "square numbers"),
        (&["e3sm-f", "--hint", "trib_placement=stride:99;striping_factor=4"], "trib_placement"),
    ] {
        let line = error(&[&["sim", "write"], arguments].concat());
        assert!(line.contains(words), "{line}");
    }
}

/// Runs the first case, which is small: a row with a number for each setting.
#[test]
fn throttles_are_compared() {
    let output = trib_lab(&["sim", "throttles", "--cases", "1"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = table.lines().map(cells).collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{table}");
    let ratios: Vec<f64> = lines[2][1..].iter().map(|cell| cell.parse().unwrap()).collect();
    assert!(ratios.iter().all(|&ratio| ratio > 0.0), "{table}");
    assert!(error(&["sim", "throttles", "--cases", "0"]).contains("cases"));
}

#[test]
fn the_help_has_all_kernels() {
    for command in ["write", "all-to-many"] {
        let help = said(&["sim", command, "--help"]);
        assert!(KernelHint::all().all(|kernel| help.contains(&kernel.to_string())), "{help}");
    }
}

/// Checks that no option of a pattern is taken for an option of the simulation.
#[test]
fn every_pattern_is_simulated() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        let words = pattern.iter().map(String::as_str);
        let words: Vec<_> =
            ["sim", "write"].into_iter().chain(words).chain(["--ranks", "4", "--sample", "0", "--json"]).collect();
        let run = json(&words);
        assert!(run["seconds"]["last"]["total"].as_f64() > Some(0.0), "{words:?}: {run}");
    }
}

/// Options for several nodes. On one node ranks share memory, and nothing is advised.
const SEVERAL_NODES: [&str; 2] = ["--ranks-per-node", "2"];

/// Returns the simulated seconds of the write of a capture.
fn of_capture(capture: &str, machine: &str, hints: &[String]) -> f64 {
    let mut arguments =
        vec!["sim", "write", "capture", capture, "--machine", machine, "--json", "--sample", "2", "--write-behind"];
    arguments.extend(SEVERAL_NODES);
    hints.iter().for_each(|hint| arguments.extend(["--hint", hint]));
    json(&arguments)["seconds"]["last"]["total"].as_f64().unwrap()
}

/// Checks that the gain that `trib-lab advise` prints is the simulator's, from the defaults to the advice.
#[test]
fn the_gain_of_advice_is_the_simulators() {
    for (name, machine) in [("btio", "summit"), ("s3d", "cori-knl"), ("hdf5-chunked", "perlmutter")] {
        let capture = format!("{}/../../benchmarks/captures/{name}.tribcap", env!("CARGO_MANIFEST_DIR"));
        let advise = ["advise", &capture, "--machine", machine, "--json"];
        let output = Command::new(TRIB_LAB).args(advise).args(SEVERAL_NODES).output().unwrap();
        let advised: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let [before, after, gain] =
            ["before_seconds", "after_seconds", "gain"].map(|key| advised[key].as_f64().unwrap());
        assert!(after <= before && (gain - before / after).abs() < 1e-9, "{name}: {advised}");
        let hints = advised["hints"].as_object().unwrap();
        let hints: Vec<String> =
            hints.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap())).collect();
        if name != "hdf5-chunked" {
            // Its largest call is not its first.
            assert!((of_capture(&capture, machine, &[]) - before).abs() <= 1e-9 * before, "{name}");
            assert!((of_capture(&capture, machine, &hints) - after).abs() <= 1e-9 * after, "{name}");
        }
        let trials = advised["trials"].as_array().unwrap();
        assert!(trials.len() > 40, "{name}: {} trials", trials.len());
        let least = trials.iter().filter_map(|trial| trial["seconds"].as_f64()).fold(f64::INFINITY, f64::min);
        assert!(after <= least * 1.01 + 1e-12, "{name}: the best of all that was tried is {least}");
    }
}
