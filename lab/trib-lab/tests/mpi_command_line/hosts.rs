//! Tests `trib-lab compare --hosts`: with emulated hosts where this user may make them, elsewhere refused or pretended.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::compare::{compare, compare_with, rows, said};

/// Returns true if the command can be run and succeeds.
fn works(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).output().is_ok_and(|output| output.status.success())
}

/// Returns the reason why hosts cannot be made here, if they cannot.
fn obstacle() -> Option<&'static str> {
    if !works(&["unshare", "--mount", "--uts", "--ipc", "--net", "true"]) {
        return Some("this user may not make namespaces (root may)");
    }
    let tools: [&[&str]; 3] = [&["ip", "-V"], &["tc", "-V"], &["nsenter", "--version"]];
    tools
        .iter()
        .any(|words| !works(words))
        .then_some("ip, tc or nsenter is not there (Debian: apt-get install iproute2)")
}

/// Returns the links of this machine's network, and its namespaces with names.
fn network() -> (Vec<String>, Vec<u8>) {
    let links = std::fs::read_dir("/sys/class/net").unwrap().map(|entry| entry.unwrap().file_name());
    let mut links: Vec<String> = links.map(|name| name.to_string_lossy().into_owned()).collect();
    links.sort();
    (links, Command::new("ip").args(["netns", "list"]).output().unwrap().stdout)
}

/// Returns true if neither the shared file system nor the names of hosts can be seen outside of the command and its
/// hosts.
fn is_clean() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let names = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    !mounts.contains("trib-hosts") && !names.contains("trib-host") && !Path::new("/run/trib-hosts/files").exists()
}

#[test]
fn two_hosts_are_made_and_taken_down() {
    if let Some(why) = obstacle() {
        eprintln!("SKIPPED, NOT TESTED: two_hosts_are_made_and_taken_down: {why}");
        return;
    }
    let before = network();
    let line = "--pattern contiguous --pattern contiguous-read --hosts 2 --ranks 2 --shape 1gbit --pairs 1 --repeats 1 \
                --scale 0.01 --no-system-calls --json";
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let clean = || {
        assert!(is_clean(), "what was mounted is still there");
        assert_eq!(network(), before, "links are still there");
    };
    let mut output = compare(&arguments);
    clean();
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // Debian's MPICH is refused there, and its Open MPI beside it runs.
    let beside = ["mpicc", "mpiexec"].map(|tool| format!("{tool}.openmpi"));
    if errors(&output).contains("does not run there") && works(&[&beside[0], "--version"]) {
        output = compare_with(&beside.into(), &arguments);
        clean();
    }
    let errors = errors(&output);
    if errors.contains("this MPI library does not run there") {
        eprintln!("SKIPPED, NOT TESTED: {errors}");
        return;
    }
    let found = rows(&output);
    assert_eq!(found.len(), 2);
    for row in &found {
        assert!(row["mpi"].as_str().unwrap().ends_with(", emulated hosts 2 x 1, 1gbit"), "{row}");
        assert_eq!((&row["bytes_equal"], &row["file_system"]), (&Value::from(true), &Value::from("tmpfs")), "{row}");
    }
}

#[test]
fn hosts_that_cannot_be_are_refused_in_one_line() {
    for (arguments, expected) in [
        ("--pattern sync --hosts 0 --ranks 2", "--hosts"),
        ("--pattern sync --hosts 4 --ranks 4,6", "hosts: 4 with 6 ranks; allowed: hosts that divide --ranks"),
        ("--pattern sync --hosts 2 --ranks 2 --shape fast", "shape: fast; allowed: a rate as tc writes it"),
        ("--pattern sync --ranks 2 --shape 1gbit", "--hosts"),
        ("--pattern sync --hosts 2 --ranks-per-host 2", "--ranks-per-host"),
        ("--pattern sync --hosts 2 --ranks 2 --directory /dev/shm", "a /dev/shm of its own; allowed: others"),
    ] {
        said(&compare(&arguments.split(' ').collect::<Vec<_>>()), expected);
    }
}

/// Checks a rate that only tc can refuse: nothing is left of the hosts that were made before.
#[test]
fn a_rate_that_tc_refuses() {
    if let Some(why) = obstacle() {
        eprintln!("SKIPPED, NOT TESTED: a_rate_that_tc_refuses: {why}");
        return;
    }
    let line = "--pattern sync --hosts 2 --ranks 2 --shape 99999999999999999999tbit";
    said(&compare(&line.split(' ').collect::<Vec<_>>()), "allowed: a rate that tc takes");
    assert!(is_clean());
}

/// Tests that the processes of a host share the rate of its files, and hosts do not: 2 x 512 KiB of 1 MiB a second.
#[test]
fn files_are_slow_on_every_host() {
    if let Some(why) = obstacle() {
        eprintln!("SKIPPED, NOT TESTED: files_are_slow_on_every_host: {why}");
        return;
    }
    let write = "for i in 1 2; do dd if=/dev/zero of=$TRIB_HOSTS_DIRECTORY/$(hostname)-$i bs=512k count=1 & done; wait";
    let script = format!("for host in trib-host0 trib-host1; do $TRIB_HOSTS_AGENT $host '{write}' & done; wait");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trib-lab"));
    command.args("hosts 2 --file-rate 1M --file-latency 300 -- sh -c".split(' ')).arg(script);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let seconds = told.lines().filter_map(|line| line.split("copied, ").nth(1)?.split(' ').next()?.parse().ok());
    let seconds: Vec<f64> = seconds.collect();
    assert_eq!(seconds.len(), 4, "{told}");
    // One of each host ends after both of its writes.
    let last = seconds.iter().filter(|seconds| **seconds >= 0.9).count();
    assert!(last == 2 && seconds.iter().all(|seconds| (0.5..1.8).contains(seconds)), "{told}");
    assert!(is_clean());
}

/// Checks that `sim validate --hosts` measures and predicts writes and reads and compares choices, not what it measures.
#[test]
fn whole_calls_on_hosts_are_measured_and_predicted() {
    if let Some(why) = obstacle() {
        eprintln!("SKIPPED, NOT TESTED: whole_calls_on_hosts_are_measured_and_predicted: {why}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let kept = directory.path().join("kept.jsonl");
    let kept = kept.to_str().unwrap();
    let validate = |mpiexec: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trib-lab"));
        command.args("sim validate --hosts 2 --quick --choice --repetitions 1 --rounds 1 --json --resume".split(' '));
        command.arg(kept).args(more).env("MPIEXEC", mpiexec);
        let _alone = tributary_testing::mpiexec::alone();
        command.output().unwrap()
    };
    let mut output = validate(&crate::compare::tools().1, &[]);
    // Debian's MPICH is refused there, and its Open MPI beside it runs.
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let beside = "mpiexec.openmpi";
    if errors(&output).contains("MPICH on UCX") && works(&[beside, "--version"]) {
        output = validate(beside, &[]);
    }
    if errors(&output).contains("MPICH on UCX") {
        eprintln!("SKIPPED, NOT TESTED: {}", errors(&output));
        return;
    }
    assert!(is_clean());
    let lines = |output: &Output| -> Vec<Value> {
        assert!(output.status.success(), "{}", errors(output));
        output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    };
    let found = lines(&output);
    let (summary, rest) = found.split_last().unwrap();
    let (choices, rows): (Vec<&Value>, Vec<_>) = rest.iter().partition(|line| line["slowest"].is_f64());
    // Two fixed cases and the library's own, and up to two that are advised; each is a write and a read.
    assert!([6, 8, 10].contains(&rows.len()), "{rest:?}");
    for row in &rows {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("measured") > 0.0 && number("simulated") > 0.0 && number("error") >= 0.0, "{row}");
    }
    assert_eq!(rows.iter().filter(|row| row["chosen"] == "").count(), 2, "{rows:?}");
    assert_eq!(choices.len(), 2, "a write and a read");
    for choice in choices {
        let ratio = |name: &str| choice[name].as_f64().unwrap();
        assert!(ratio("slowest") >= ratio("chosen_of_best") && ratio("chosen_of_best") >= 1.0, "{choice}");
        assert!(ratio("library_of_best") > 0.0, "{choice}");
    }
    for (fitted, number) in [("fitted", 2), ("predicted", rows.len() - 2)] {
        assert_eq!(summary[fitted]["rows"], number, "{summary}");
        assert!(summary[fitted]["worst"].as_f64() >= summary[fitted]["median"].as_f64(), "{summary}");
    }
    // A second run takes what is kept, and measures nothing.
    let again = lines(&validate("no-such-launcher", &["--no-measure"]));
    assert_eq!(again.len(), found.len());
    assert_eq!(again[0]["measured"], rows[0]["measured"]);
}
