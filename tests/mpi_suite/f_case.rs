//! Tests the E3SM F case on MPI: every kernel setting with every driver writes the same file, in one program of 16
//! ranks, with one in two throttles, the large map with one in four (the tests on threads have more).

use tributary::Endpoint;
use tributary_benchmarks::E3smF;
use tributary_testing::f_case_matrix;
use tributary_testing::f_case_matrix::{RANKS, REAL, SMALL, real_map};
use tributary_testing::mpiexec::{directory, under_mpiexec, world};

fn on_mpi(case: &E3smF, windows: &str, part: usize) {
    let (_world, endpoint) = world();
    let endpoint = Endpoint::new(Box::new(endpoint));
    let directory = directory();
    let expected = if endpoint.rank() == 0 { f_case_matrix::serial(case, &directory) } else { Vec::new() };
    f_case_matrix::run(endpoint, case, &expected, &directory, windows, part);
}

#[test]
fn the_shipped_map() {
    under_mpiexec("f_case::the_shipped_map", &[RANKS], || on_mpi(&E3smF::shipped().unwrap(), SMALL, 2));
}

#[test]
fn the_map_of_the_benchmark() {
    // Here too, not only on the ranks: what they print is not shown when they succeed.
    if real_map().is_none() {
        return;
    }
    under_mpiexec("f_case::the_map_of_the_benchmark", &[RANKS], || {
        if let Some(case) = real_map() {
            on_mpi(&case, REAL, 4);
        }
    });
}
