//! Tests every pattern through the command line: written and read back with every kernel, and planned; and the errors
//! about bad parameters.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tributary::hints::KernelHint;
use tributary_testing::settings::DRIVERS;
use tributary_testing::small;

/// Hints for windows so small that there are many rounds, and for stripes that cut extents.
const WINDOWS: &str = "striping_unit=1000;striping_factor=3;cb_buffer_size=2000;trib_tiny_call=0;romio_cb_write=enable;\
                       romio_cb_read=enable;nc_num_aggrs_per_node=1;cb_nodes=3";

fn trib(arguments: &[impl AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib"));
    command.env_remove("TRIB_HINTS").env_remove("TRIB_HINTS_FILE");
    command.args(arguments).output().unwrap()
}

/// Returns the words `replay`, a pattern and more options.
fn line(pattern: &[String], more: &str) -> Vec<String> {
    let more = more.split_whitespace().map(str::to_string);
    ["replay".to_string()].into_iter().chain(pattern.iter().cloned()).chain(more).collect()
}

fn json(arguments: &[String]) -> Value {
    let output = trib(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that must fail with one line of error, and returns the line.
fn error(arguments: &[String]) -> String {
    let output = trib(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}: {said}");
    assert!(said.starts_with("trib: ") && said.trim_end().lines().count() == 1, "{arguments:?}: {said}");
    said
}

#[test]
fn every_pattern_writes_and_reads_back_with_every_kernel() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        let mut digests = std::collections::BTreeSet::new();
        for (kernel, driver) in KernelHint::all().zip(DRIVERS.into_iter().cycle()) {
            let common = format!("--ranks {} --verify --read --json --kernel {kernel} --driver {driver}", small::RANKS);
            let more = format!("{common} --ranks-per-node 2 --hint {WINDOWS}");
            let all = json(&line(&pattern, &more));
            assert_eq!(all["verified"], true, "{pattern:?} {kernel} {driver}");
            assert_eq!(all["bytes"], all["bytes_written"], "{pattern:?} {kernel} {driver}");
            assert_eq!((&all["bytes"], &all["calls"]), (&all["read"]["bytes_read"], &all["read"]["calls"]));
            let of_a_call = all["bytes"].as_u64().unwrap() / all["calls"].as_u64().unwrap();
            assert!(all["rounds"].as_u64() > Some(1) || of_a_call < 9000, "{pattern:?}: {all}");
            digests.insert(all["sha256"].to_string());
        }
        assert_eq!(digests.len(), 1, "{pattern:?}");
    }
}

#[test]
fn gaps_in_memory_stay_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        let mut digests = std::collections::BTreeSet::new();
        for buffer in ["--buffer contiguous", "--buffer noncontiguous", ""] {
            let more = format!("--ranks {} --verify --read --json {buffer} --hint {WINDOWS}", small::RANKS);
            let all = json(&line(&pattern, &more));
            assert_eq!(all["verified"], true, "{pattern:?} {buffer}");
            digests.insert(all["sha256"].to_string());
        }
        assert_eq!(digests.len(), 1, "{pattern:?}");
    }
}

/// Checks that a plan counts what a run exchanges with flat kernels, call by call.
#[test]
fn a_plan_of_every_pattern_counts_what_a_run_exchanges() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        for driver in ["lustre", "gpfs"] {
            let more = format!(
                "--ranks {} --ranks-per-node 2 --json --driver {driver} --hint {WINDOWS} \
                 --hint trib_kernel_meta=balanced --hint trib_kernel_data=balanced",
                small::RANKS
            );
            let (run, plan) = (json(&line(&pattern, &more)), json(&line(&pattern, &format!("{more} --plan-only"))));
            let keys = ["aggregators", "requests", "calls", "bytes", "rounds", "metadata_bytes", "messages"];
            for key in keys.into_iter().chain(["nodes", "driver"]) {
                assert_eq!(run[key], plan[key], "{pattern:?} {driver} {key}");
            }
            assert_eq!(run["fan_in"]["max"], plan["fan_in"]["max"], "{pattern:?} {driver}");
            assert_eq!(run["fan_in"]["min"], plan["fan_in"]["min"], "{pattern:?} {driver}");
        }
    }
}

#[test]
fn steps_are_calls() {
    let pattern = ["btio", "--grid", "7", "--iterations", "3"].map(String::from);
    let all = json(&line(&pattern, "--ranks 4 --verify --json"));
    assert_eq!((&all["calls"], &all["requests"], &all["bytes"]), (&3.into(), &294.into(), &41_160.into()));
}

#[test]
fn netcdf_files_have_a_header_and_the_same_data() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept.nc");
    for pattern in small::patterns(directory.path()) {
        let more =
            format!("--ranks {} --format netcdf --verify --read --json --output {}", small::RANKS, kept.display());
        if !["e3sm-f", "e3sm-g", "e3sm-i", "flash", "btio"].contains(&pattern[0].as_str()) {
            let said = error(&line(&pattern, &more));
            assert!(said.contains("--format netcdf") && said.contains(&pattern[0]) && said.contains("raw"), "{said}");
            continue;
        }
        let all = json(&line(&pattern, &more));
        assert_eq!((&all["verified"], &all["format"]), (&true.into(), &"netcdf".into()), "{pattern:?}");
        assert!(all["bytes"].as_u64() > all["read"]["bytes"].as_u64(), "the header is written with the data");
        assert_eq!(std::fs::read(&kept).unwrap()[..3], *b"CDF");
    }
}

#[test]
fn a_file_that_is_there_is_read_and_judged() {
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept").display().to_string();
    let pattern = ["block4d", "--lattice", "4x4x4x4", "--site", "8"].map(String::from);
    json(&line(&pattern, &format!("--ranks 4 --json --output {kept}")));
    let read = format!("--read-only {kept} --verify --json");
    let all = json(&line(&pattern, &format!("--ranks 4 {read}")));
    assert_eq!((&all["verified"], &all["operation"], &all["bytes_read"]), (&true.into(), &"read".into(), &2048.into()));
    assert_eq!(all.get("bytes_written"), None);
    // Other ranks, other buffers: the same file.
    assert_eq!(json(&line(&pattern, &format!("--ranks 8 --buffer noncontiguous {read}")))["verified"], true);

    let whole = std::fs::read(&kept).unwrap();
    let judged = |bytes: &[u8]| {
        std::fs::write(&kept, bytes).unwrap();
        let output = trib(&line(&pattern, &format!("--ranks 4 {read}")));
        assert!(!output.status.success());
        assert_eq!(std::fs::read(&kept).unwrap(), bytes, "a file that is read stays as it is");
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(all["verified"], false);
        (all, String::from_utf8(output.stderr).unwrap())
    };
    let mut wrong = whole.clone();
    wrong[1001] ^= 1;
    let (_, said) = judged(&wrong);
    assert!(said.contains("not verified: rank ") && said.contains("at file offset 1001,"), "{said}");
    let (all, said) = judged(&whole[..1500]);
    assert_eq!(all["bytes_read"], 1500);
    assert!(said.contains("not verified"), "{said}");
    // Without --verify the bytes that are there are all that is asked.
    let short = json(&line(&pattern, &format!("--ranks 4 --read-only {kept} --json")));
    assert_eq!((&short["bytes_read"], &short["verified"]), (&1500.into(), &Value::Null));
}

#[test]
fn a_trace_is_replayed_and_folded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.dat");
    std::fs::write(&path, small::trace()).unwrap();
    let pattern = ["wrf".to_string(), "--trace".to_string(), path.display().to_string()];
    for ranks in ["", "--ranks 4", "--ranks 2", "--ranks 1", "--ranks 6"] {
        for kernel in KernelHint::all() {
            let all = json(&line(&pattern, &format!("{ranks} --kernel {kernel} --ranks-per-node 2 --json")));
            let bytes = 3 * 10_000 + 4 * 3;
            assert_eq!(
                (&all["bytes_sent"], &all["bytes_received"]),
                (&bytes.into(), &bytes.into()),
                "{ranks} {kernel}"
            );
            assert_eq!((&all["verified"], &all["rounds"]), (&true.into(), &2.into()));
        }
    }
    for option in ["--plan-only", "--read", "--output x", "--buffer contiguous", "--format netcdf", "--read-only x"] {
        let said = error(&line(&pattern, option));
        assert!(said.contains(option.split(' ').next().unwrap()) && said.contains("exchange"), "{said}");
    }
}

/// Checks that every error is one line, and comes before the file is touched.
#[test]
fn bad_parameters_are_one_line_and_no_file_is_touched() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let kept = at("kept", b"precious");
    let trace = small::trace();
    let cut = at("cut.dat", &trace[..trace.len() - 6]);
    let negative = at("negative.txt", b"ranks 1\nrank 0\n0 10\n20 -5\n");
    let missing = at("missing.txt", b"ranks 3\nrank 0\n0 10\nrank 2\n20 5\n");
    let lists = at("lists.txt", b"ranks 1\nrank 0\n0 10\n");
    let cases = [
        ("btio --ranks 5".to_string(), &["ranks", "5", "square"][..]),
        ("btio --ranks 16 --grid 8".into(), &["grid", "8", "12"]),
        ("btio --class X".into(), &["X", "--class", "S, W, A"]),
        ("btio --grid 4000000000 --ranks 1".into(), &["grid", "2^63"]),
        ("btio --class S --iterations 0".into(), &["iterations", "0"]),
        (format!("wrf --trace {cut}"), &["cut.dat"]),
        ("wrf --trace nowhere.dat".into(), &["nowhere.dat", "No such file"]),
        ("wrf".into(), &["--trace"]),
        (format!("list --lists {negative}"), &["negative.txt", "-5"]),
        (format!("list --lists {missing}"), &["missing.txt", "rank"]),
        (format!("list --lists {lists} --ranks 2"), &["ranks: 2", "lists.txt", "1"]),
        ("list".into(), &["--lists"]),
        ("ior -t 1000 -b 1500".into(), &["block size", "1500", "1000"]),
        ("ior -t 12".into(), &["transfer size", "12", "8"]),
        ("ior -b 4TiB -t 4TiB -s 99999999".into(), &["segments", "2^63"]),
        ("ior -s 18446744073709551616".into(), &["18446744073709551616"]),
        ("s3d --points 7x4x4 --grid 2x2x2 --ranks 8".into(), &["points", "7x4x4"]),
        ("s3d --points 4x4".into(), &["4x4", "3 numbers"]),
        ("block4d --lattice 4000000000x4000000000x4000000000x2".into(), &["lattice", "2^63"]),
        ("block4d --grid 1x1x1x5".into(), &["grid", "1x1x1x5"]),
        ("flash --blocks 0".into(), &["blocks", "0"]),
        ("flash --blocks 9999999999".into(), &["blocks", "9999999999"]),
        ("flash --block-size 0".into(), &["--block-size", "0"]),
        ("e3sm-f --records 0".into(), &["records", "0"]),
        ("e3sm-g --type float".into(), &["--type"]),
        ("e3sm-x".into(), &["e3sm-x", "e3sm-f"]),
        ("ior --ranks 0".into(), &["'0' for '--ranks <P>'"]),
        ("ior --ranks some".into(), &["--ranks", "some"]),
        ("ior --read-only nowhere.out --read".into(), &["--read-only", "--read"]),
        ("ior --plan-only --verify".into(), &["--plan-only", "--verify"]),
        ("btio --class S --format netcdf --buffer noncontiguous".into(), &["--buffer", "--read"]),
    ];
    for (given, expected) in cases {
        let given: Vec<String> = given.split_whitespace().map(str::to_string).collect();
        let output = if given.iter().any(|word| word.starts_with("--read-only") || word == "--plan-only") {
            String::new()
        } else {
            format!("--output {kept}")
        };
        let mut arguments = line(&given, &output);
        if given[0] == "wrf" {
            // An exchange has no output; its own errors are found without.
            arguments.truncate(given.len() + 1);
        }
        let said = error(&arguments);
        for word in expected {
            assert!(said.contains(word), "{given:?}: {word} in {said}");
        }
        assert_eq!(std::fs::read(&kept).unwrap(), b"precious", "{given:?}");
    }
    let said = error(&line(&["ior".to_string()], "--read-only nowhere.out"));
    assert!(said.contains("nowhere.out") && said.contains("No such file"), "{said}");
    assert!(!Path::new("nowhere.out").exists());
}

#[test]
fn every_pattern_has_a_page_of_help() {
    let directory = tempfile::tempdir().unwrap();
    for pattern in small::patterns(directory.path()) {
        let help = String::from_utf8(trib(&["replay", &pattern[0], "--help"]).stdout).unwrap();
        assert!(help.contains(&format!("Usage: trib replay {}", pattern[0])), "{help}");
        assert!(help.contains("Parameters:") && help.lines().count() < 80, "{help}");
    }
}
