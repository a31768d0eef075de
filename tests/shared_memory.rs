//! The conformance suite through memory that ranks share, on the threads fabric.

#[path = "common/reading.rs"]
mod reading;
#[path = "common/suite.rs"]
mod suite;

use tributary::Endpoint;
use tributary::fabric::threads;

fn on_threads(ranks: usize) {
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| suite::run_shared(Endpoint::new(transport), directory.path())).unwrap();
}

#[test]
fn one_rank() {
    on_threads(1);
}

#[test]
fn two_ranks() {
    on_threads(2);
}

#[test]
fn three_ranks() {
    on_threads(3);
}

#[test]
fn eight_ranks() {
    on_threads(8);
}

#[test]
fn thirty_two_ranks() {
    on_threads(32);
}
