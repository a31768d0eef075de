//! Tests a program in Fortran with all three interfaces to MPI: the wrappers of an MPI library call either name of a
//! function, and sometimes not through C.

use crate::common::launch::Launch;
use crate::common::matrix::{Setting, same_as_without};
use crate::common::programs::Build;

const CALLS: [&str; 6] = ["write_all", "write_all_begin", "iwrite_all", "read_all", "write_at_all", "read_at_all"];

fn check(way: &str, name: &'static str, settings: &[Setting]) {
    let options = vec![format!("-D{way}")];
    let program = Build { name: Some(name), options, ..Build::default() }.compile("collective.F90");
    same_as_without(&Launch::new(4, &program), settings, &CALLS);
}

#[test]
fn include_mpif_h() {
    check("WITH_MPIF", "fortran-mpif", &Setting::few());
}

#[test]
fn use_mpi() {
    check("WITH_MPI", "fortran-mpi", &Setting::few());
}

#[test]
fn use_mpi_f08() {
    check("WITH_F08", "fortran-f08", &Setting::few());
}
