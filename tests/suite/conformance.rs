//! Runs the conformance suite with ranks as threads.

use tributary::Endpoint;
use tributary::fabric::threads;
use tributary_testing::suite;

fn on_threads(ranks: usize) {
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| suite::run(Endpoint::new(transport), directory.path())).unwrap();
}

tributary_testing::tests_of_ranks! {
    on_threads:
    one_rank(1), two_ranks(2), three_ranks(3), five_ranks(5),
    eight_ranks(8), thirteen_ranks(13), thirty_two_ranks(32)
}
