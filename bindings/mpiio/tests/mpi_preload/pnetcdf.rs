//! Tests the PnetCDF of the distribution, which Debian links with Open MPI only: the file is valid, and the same byte
//! for byte.

use std::process::Command;

use crate::common::family::Family;
use crate::common::launch::{Launch, Outcome};
use crate::common::matrix::{Setting, same, with_library};
use crate::common::programs::Build;

/// Hints that keep the file's layout the same: otherwise PnetCDF chooses it by the hint `striping_unit` of the file.
const LAYOUT: &str = "nc_header_align_size=4;nc_var_align_size=4";

fn validate(outcome: &Outcome) {
    let output = Command::new("ncvalidator").arg(outcome.folder.path().join("data.nc")).output();
    let output = output.unwrap_or_else(|cause| panic!("ncvalidator: {cause}; install it (Debian: pnetcdf-bin)"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("is a valid NetCDF"), "{said}");
}

#[test]
fn varn_flushed_by_wait_all() {
    let family = Family::OpenMpi;
    let build = Build { family: Some(family), ..Build::default() }.with_module("pnetcdf", "libpnetcdf-dev");
    let launch = Launch::new(4, &build.compile("pnetcdf.c")).family(family).env("PNETCDF_HINTS", LAYOUT);
    let plain = launch.run();
    validate(&plain);
    with_library(&launch, &Setting::few(), &["write_at_all", "read_at_all"], |outcome, what| {
        same(outcome, &plain, what);
        validate(outcome);
    });
}
