//! Tests on a real file system whose hosts cache by themselves: other hosts write into holes, files are created and
//! removed, and the file system fails on a host.
//!
//! `.ci/mounts` makes hosts, mounts the file system on each, and sets variables with the commands that stop and start
//! its parts. Elsewhere these tests are ignored, and fail if somebody asks for them.

use std::time::Duration;

use crate::common::launch::{Launch, Outcome};
use crate::common::programs::compile;
use crate::outages::{HOST, RANKS, during, on};

/// Hint for one aggregator a host. (Emulated hosts share a machine, and would have fewer.)
const AN_AGGREGATOR_A_HOST: &str = "cb_nodes=4";

/// Returns a variable that the file system's script sets.
fn told(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: .ci/mounts does"))
}

fn wait(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

fn none_wrong(outcome: &Outcome) {
    assert_eq!(outcome.stdout.matches("\n0 wrong\n").count(), RANKS, "{}{}", outcome.stdout, outcome.stderr);
}

fn rounds(program: &str, rounds: &str, hints: &str) -> Outcome {
    Launch::new(RANKS, &compile(program)).arg(rounds).with_library().hints(hints).run()
}

/// Tests writes by the first aggregator only, and by all.
#[test]
#[ignore = "needs a file system on emulated hosts: .ci/mounts"]
fn what_others_write_into_holes_stays() {
    none_wrong(&rounds("holes.c", "2", ""));
    none_wrong(&rounds("holes.c", "2", &format!("trib_tiny_call=0; romio_cb_write=enable; {AN_AGGREGATOR_A_HOST}")));
}

#[test]
#[ignore = "needs a file system on emulated hosts: .ci/mounts"]
fn files_that_come_and_go_are_seen() {
    none_wrong(&rounds("visible.c", "16", ""));
}

/// Runs `event` while ranks write and read. Expects that they end in time, and that the last round succeeds.
fn withstands(hints: &str, event: impl FnOnce() + Send) -> Outcome {
    let outcome = during(hints, |_| event());
    assert!(outcome.status.success(), "{}\n{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout.matches("went on\n").count(), RANKS, "{}\n{}", outcome.stdout, outcome.stderr);
    eprintln!("{}", outcome.stderr);
    outcome
}

/// The mount of a host disappears and comes back: meanwhile calls fail on all ranks alike, and afterwards they
/// succeed.
fn loses_the_mount(how: &str) {
    let (place, again) = (std::env::temp_dir(), told("TRIB_TEST_MOUNT"));
    let place = place.display();
    let outcome = withstands(AN_AGGREGATOR_A_HOST, || {
        on(HOST, &how.replace("PLACE", &place.to_string()));
        wait(3);
        on(HOST, &format!("umount -l {place} 2> /dev/null; {again}"));
        wait(3);
    });
    assert_eq!(outcome.stdout.matches("some failed\n").count(), RANKS, "{}\n{}", outcome.stdout, outcome.stderr);
}

#[test]
#[ignore = "needs a file system on emulated hosts: .ci/mounts"]
fn a_host_unmounts() {
    loses_the_mount("umount -l PLACE");
}

/// The file system's client on a host ends with "Transport endpoint is not connected", as if its process had been
/// killed.
#[test]
#[ignore = "needs a file system on emulated hosts: .ci/mounts"]
fn the_client_of_a_host_ends() {
    loses_the_mount(
        "at=/sys/fs/fuse/connections; [ -d $at/$(stat -c %d PLACE) ] || mount -t fusectl none $at; \
         echo 1 > $at/$(stat -c %d PLACE)/abort",
    );
}

/// A server stops suddenly, and starts again: calls wait for it, and succeed or fail alike on all ranks.
#[test]
#[ignore = "needs a file system on emulated hosts: .ci/mounts"]
fn a_server_is_killed_and_comes_back() {
    let (stop, start) = (told("TRIB_TEST_KILL_SERVER"), told("TRIB_TEST_START_SERVER"));
    withstands("trib_stall_timeout=5", || {
        on(HOST, &stop);
        wait(8);
        on(HOST, &start);
        wait(3);
    });
}
