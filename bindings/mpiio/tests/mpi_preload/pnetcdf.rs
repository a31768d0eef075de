//! Tests the PnetCDF of the distribution, which Debian links with Open MPI only: the file is valid, and the same byte
//! for byte. Also tests that PnetCDF 1.15 takes MPI-IO, with a library that asks for its driver as PnetCDF does, and
//! with PnetCDF itself, if TRIB_PNETCDF_GIO names one.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::family::Family;
use crate::common::launch::{Launch, Outcome, library};
use crate::common::matrix::{Setting, same, with_library};
use crate::common::programs::{Build, folder};
use crate::common::report::accelerated;

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

/// Returns a program that creates a file by what passes for PnetCDF: in a shared library, or linked statically.
fn like_pnetcdf(is_static: bool) -> PathBuf {
    let source = "like_pnetcdf.c";
    if is_static {
        let libraries = vec![folder().join(source).display().to_string()];
        return Build { name: Some("driver_static"), libraries, ..Build::default() }.compile("driver.c");
    }
    let options = ["-shared", "-fPIC"].map(String::from).to_vec();
    let library = Build { options, name: Some("like_pnetcdf.so"), ..Build::default() }.compile(source);
    let libraries = vec![library.display().to_string()];
    Build { name: Some("driver_shared"), libraries, ..Build::default() }.compile("driver.c")
}

/// Returns a run with the preloaded library, whichever door the other tests use: a component of Open MPI is loaded
/// with the first file that MPI opens, so PnetCDF has chosen its driver before.
fn preloaded(program: &Path) -> Launch {
    Launch::new(3, program).also_preload(&library()).env("TRIB_REPORT", "json")
}

/// Checks which driver PnetCDF takes, whether the library ran the collective write, and whether the report says that
/// the library has chosen the driver.
fn check(launch: &Launch, driver: &str, ran: u64, is_added: bool) {
    let outcome = launch.run();
    let added = outcome.reports.iter().find_map(|report| report.hint_added.clone());
    let found = (outcome.stdout.trim(), accelerated(&outcome.reports, "write_at_all"), added.as_deref());
    let due = format!("driver {driver}");
    assert_eq!(found, (due.as_str(), ran, is_added.then_some("nc_driver=mpiio")), "{}", outcome.stderr);
    let bytes = [b'a', b'b', b'c'].map(|byte| vec![byte; 1000]).concat();
    assert!(outcome.files["data"] == bytes, "another file");
}

#[test]
fn pnetcdf_1_15_takes_mpi_io_with_no_variable_set() {
    for is_static in [false, true] {
        let program = like_pnetcdf(is_static);
        check(&Launch::new(3, &program).arg("1.15"), "gio", 0, false);
        check(&preloaded(&program).arg("1.15"), "mpiio", 1, true);
    }
    let said = preloaded(&like_pnetcdf(false)).arg("1.15").env("TRIB_REPORT", "1").run().stderr;
    assert!(said.contains("nc_driver=mpiio: PnetCDF calls MPI-IO in place of GIO"), "{said}");
}

#[test]
fn a_driver_of_pnetcdf_that_somebody_chose_stays() {
    let launch = preloaded(&like_pnetcdf(false)).arg("1.15");
    for (driver, ran) in [("gio", 0), ("mpiio", 1)] {
        check(&launch.clone().arg(driver), driver, ran, false);
        check(
            &launch.clone().env("PNETCDF_HINTS", format!("nc_in_place_swap=auto;nc_driver={driver}")),
            driver,
            ran,
            false,
        );
    }
    check(&launch.clone().arg("mpiio").env("PNETCDF_HINTS", "nc_driver=gio"), "gio", 0, false);
}

#[test]
fn pnetcdf_before_1_15_is_not_touched() {
    check(&preloaded(&like_pnetcdf(false)).arg("1.14"), "mpiio", 1, false);
}

#[test]
fn a_library_that_is_off_leaves_pnetcdf_its_driver() {
    let launch = preloaded(&like_pnetcdf(false)).arg("1.15");
    check(&launch.clone().env("TRIB_DISABLE", "1"), "gio", 0, false);
    let site = tempfile::tempdir().unwrap();
    let conf = site.path().join("conf");
    std::fs::write(&conf, "off driver_shared*\n").unwrap();
    check(&launch.env("TRIB_CONF", conf.display().to_string()), "gio", 0, false);
}

/// Variable with the prefix of a static PnetCDF with GIO, for the MPI library of this build.
const WITH_GIO: &str = "TRIB_PNETCDF_GIO";

#[test]
#[cfg_attr(
    not(pnetcdf_gio),
    ignore = "TRIB_PNETCDF_GIO does not name the prefix of a static PnetCDF 1.15 or later with GIO, for this MPI library"
)]
fn pnetcdf_with_gio_writes_the_same_file_through_this_library() {
    let prefix = PathBuf::from(std::env::var_os(WITH_GIO).expect("TRIB_PNETCDF_GIO, as at the build"));
    let options = vec![format!("-I{}", prefix.join("include").display())];
    let libraries = vec![prefix.join("lib/libpnetcdf.a").display().to_string()];
    let program = Build { name: Some("pnetcdf_gio"), options, libraries, ..Build::default() }.compile("pnetcdf.c");
    let plain = Launch::new(3, &program).env("PNETCDF_HINTS", LAYOUT).run();
    validate(&plain);
    let outcome = preloaded(&program).env("PNETCDF_HINTS", LAYOUT).run();
    same(&outcome, &plain, "PnetCDF with GIO");
    let added = outcome.reports.iter().map(|report| report.hint_added.as_deref()).collect::<Vec<_>>();
    assert!(!added.is_empty() && added.iter().all(|hint| *hint == Some("nc_driver=mpiio")), "{added:?}");
    assert!(accelerated(&outcome.reports, "write_at_all") > 0, "{}", outcome.stderr);
}
