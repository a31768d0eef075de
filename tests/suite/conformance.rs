//! The conformance suite on the threads fabric.

use tributary::Endpoint;
use tributary::fabric::threads;
use tributary_testing::suite;

fn on_threads(ranks: usize) {
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| suite::run(Endpoint::new(transport), directory.path())).unwrap();
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
fn five_ranks() {
    on_threads(5);
}

#[test]
fn eight_ranks() {
    on_threads(8);
}

#[test]
fn thirteen_ranks() {
    on_threads(13);
}

#[test]
fn thirty_two_ranks() {
    on_threads(32);
}
