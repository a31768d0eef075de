//! Tests the E3SM F case with ranks as threads: every kernel setting, driver and throttle writes the same file; the
//! large map with every other one.

use tributary::Endpoint;
use tributary::fabric::threads;
use tributary_benchmarks::E3smF;
use tributary_testing::f_case_matrix;
use tributary_testing::f_case_matrix::{RANKS, REAL, SMALL};
use tributary_testing::watchdog::Watchdog;

fn on_threads(case: &E3smF, windows: &str, part: usize) {
    let directory = tempfile::tempdir().unwrap();
    let expected = f_case_matrix::serial(case, directory.path());
    threads::run(RANKS, |transport| {
        f_case_matrix::run(Endpoint::new(transport), case, &expected, directory.path(), windows, part);
    })
    .unwrap();
}

#[test]
fn the_shipped_map() {
    let _watchdog = Watchdog::new("the_shipped_map", 600);
    on_threads(&E3smF::shipped().unwrap(), SMALL, 1);
}

#[test]
fn the_map_of_the_benchmark() {
    let _watchdog = Watchdog::new("the_map_of_the_benchmark", 900);
    if let Some(case) = f_case_matrix::real_map() {
        on_threads(&case, REAL, 2);
    }
}
