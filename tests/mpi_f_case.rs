//! The E3SM F case on MPI: every kernel setting, driver and throttle writes the same file, in one program of 16 ranks.
#![cfg(feature = "mpi")]

#[path = "common/f_case_matrix.rs"]
mod f_case_matrix;
#[path = "common/mpiexec.rs"]
mod mpiexec;
#[path = "common/settings.rs"]
mod settings;

use f_case_matrix::{RANKS, REAL, SMALL, real_map};
use mpiexec::{directory, under_mpiexec, world};
use tributary::Endpoint;
use tributary_benchmarks::E3smF;

fn on_mpi(case: &E3smF, windows: &str) {
    let (_world, endpoint) = world();
    let endpoint = Endpoint::new(Box::new(endpoint));
    let directory = directory();
    let expected = if endpoint.rank() == 0 { f_case_matrix::serial(case, &directory) } else { Vec::new() };
    f_case_matrix::run(endpoint, case, &expected, &directory, windows);
}

#[test]
fn the_shipped_map() {
    under_mpiexec("the_shipped_map", &[RANKS], || on_mpi(&E3smF::shipped().unwrap(), SMALL));
}

#[test]
fn the_map_of_the_benchmark() {
    // Here too, not only on the ranks: what they print is not shown when they succeed.
    if real_map().is_none() {
        return;
    }
    under_mpiexec("the_map_of_the_benchmark", &[RANKS], || {
        if let Some(case) = real_map() {
            on_mpi(&case, REAL);
        }
    });
}
