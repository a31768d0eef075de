//! Tests C++ exceptions that leave the program's error handlers: they pass through this library, and the file works
//! afterwards.

use super::{FILE, HOSTS, is_ok, launch, prints_ok};
use crate::common::programs::preloadable;

#[test]
fn an_exception_leaves_a_refused_call() {
    is_ok("throw.cc", 2, &[], &[]);
}

#[test]
fn an_exception_leaves_a_function_that_passes_through() {
    is_ok("throw.cc", 2, &["seek"], &[]);
}

#[test]
fn a_file_works_after_every_exception() {
    is_ok("throws.cc", 2, &[], &[]);
    is_ok("throws.cc", 1, &[], &[]);
}

/// The file system fails on one rank, once. (`faults` knows the file by its name.)
#[test]
fn exceptions_leave_calls_that_fail_in_the_engine() {
    for what in ["write", "iwrite", "split", "sync", "close"] {
        let kind = if what == "sync" || what == "close" { what } else { "write" };
        let fault = format!("{kind}:0:1");
        let with = launch("throws.cc", 2, &[what]).with_library().also_preload(&preloadable("faults"));
        for (how, launch) in [("defaults", with.clone()), ("hosts", with.hints(HOSTS))] {
            let outcome = launch.env("TRIB_TEST_FAULT", &fault).run();
            prints_ok(&outcome, &format!("{what} of {FILE}, {how}"));
            assert!(outcome.files.contains_key(FILE), "{what}, {how}");
        }
    }
}
