//! Tests hosts that stop, and links that are cut, while ranks write and read collectively.
//!
//! The hosts are emulated: `.ci/hosts` makes them with `trib-lab hosts`, and runs these tests there. Elsewhere the
//! tests are ignored, and fail if somebody asks for them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;

/// Number of ranks: two on each host.
pub const RANKS: usize = 8;
/// Name of the host that is disturbed; the launcher is on the first host.
pub const HOST: &str = "trib-host1";
/// Time in which ranks must begin.
const BEGIN: Duration = Duration::from_secs(60);

/// Runs a command line on a host.
///
/// # Panics
/// Panics if the command fails.
pub fn on(host: &str, line: &str) {
    let agent = std::env::var_os("TRIB_HOSTS_AGENT").expect("emulated hosts: .ci/hosts makes them");
    let output = Command::new(agent).args([host, line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn on_host(line: &str) {
    on(HOST, line);
}

/// Returns the process numbers of the host's ranks, after they have written once.
fn ranks_there(directory: &Path) -> Vec<String> {
    let start = Instant::now();
    loop {
        let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        if names.len() == RANKS {
            let there = names.iter().filter_map(|name| name.strip_prefix(&format!("{HOST}-")));
            return there.map(String::from).collect();
        }
        assert!(start.elapsed() < BEGIN, "not all ranks have begun: {names:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs `event` while ranks write with these hints, and then asks them to end.
///
/// # Panics
/// Panics if the ranks do not begin or end in time.
pub fn during(hints: &str, event: impl FnOnce(&[String]) + Send) -> Outcome {
    during_at_most(hints, 120, event).unwrap_or_else(|printed| panic!("not done in 120 s\n{printed}"))
}

/// Does what [`during`] does. After `seconds` the ranks are killed, and the error is what they have printed.
///
/// # Panics
/// Panics if the ranks do not begin in time.
fn during_at_most(hints: &str, seconds: u64, event: impl FnOnce(&[String]) + Send) -> Result<Outcome, String> {
    // Where the hosts see each other whatever happens to the file system under test.
    let shared = std::env::var_os("TRIB_HOSTS_DIRECTORY").expect("emulated hosts: .ci/hosts makes them");
    let told = tempfile::tempdir_in(shared).unwrap();
    let launch = Launch::new(RANKS, &compile("outages.c")).arg(told.path().to_string_lossy()).seconds(seconds);
    let launch = launch.with_library().hints(hints);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ranks = ranks_there(told.path());
            assert_eq!(ranks.len(), 2, "ranks of {HOST}: {ranks:?}");
            event(&ranks);
            std::fs::write(told.path().join("enough"), "").unwrap();
        });
        launch.run_in_time()
    })
}

fn goes_on(outcome: &Outcome) {
    assert!(outcome.status.success(), "{}\n{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout.matches("none failed\nwent on\n").count(), RANKS, "{}", outcome.stdout);
}

#[test]
#[ignore = "needs emulated hosts: .ci/hosts"]
fn all_ranks_of_a_host_are_stopped_for_20_seconds() {
    let outcome = during("trib_stall_timeout=5", |ranks| {
        for (signal, seconds) in [("-STOP", 20), ("-CONT", 1)] {
            on_host(&format!("kill {signal} {}", ranks.join(" ")));
            std::thread::sleep(Duration::from_secs(seconds));
        }
    });
    goes_on(&outcome);
    // The host may stop anywhere in a call: another host names the call, and the ranks that it waits for if they are
    // known.
    let told: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.contains("has waited for 5 s in MPI_File_")).collect();
    assert!(!told.is_empty(), "nobody said what ranks wait for\n{}", outcome.stderr);
    eprintln!("{}", told.join("\n"));
}

#[test]
#[ignore = "needs emulated hosts: .ci/hosts"]
fn a_link_is_cut_for_5_seconds() {
    let outcome = during("trib_stall_timeout=0", |_| {
        for (way, seconds) in [("down", 5), ("up", 1)] {
            on_host(&format!("ip link set eth0 {way}"));
            std::thread::sleep(Duration::from_secs(seconds));
        }
    });
    goes_on(&outcome);
}

/// When the system gives up the connections, no rank reaches its end. The system decides how long that takes: a quarter of an
/// hour by default, some seconds here. Then MPI fails, and the launcher ends the job; or MPI waits for ever (Open MPI 4.1 does
/// if a rank only receives from the host that is gone: it closes the connection and leaves the receive waiting), and the
/// library says what ranks wait for.
#[test]
#[ignore = "needs emulated hosts: .ci/hosts"]
fn a_link_is_cut_for_good() {
    for host in 0..4 {
        on(&format!("trib-host{host}"), "echo 3 > /proc/sys/net/ipv4/tcp_retries2");
    }
    let cut = |_: &[String]| on_host("ip link set eth0 down");
    let ended = during_at_most("trib_stall_timeout=5", 60, cut);
    on_host("ip link set eth0 up");
    match ended {
        Ok(outcome) => {
            assert!(!outcome.status.success(), "{}\n{}", outcome.stdout, outcome.stderr);
            assert!(!outcome.stdout.contains("went on"), "{}", outcome.stdout);
        }
        Err(printed) => {
            assert!(printed.contains("has waited for 5 s in MPI_File_"), "nobody said what ranks wait for\n{printed}");
            assert!(!printed.contains("went on"), "{printed}");
        }
    }
}
