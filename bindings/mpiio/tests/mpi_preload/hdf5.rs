//! Tests the parallel HDF5 of the distribution: the file is the same, byte for byte, and serial HDF5 can read it.

use std::process::Command;

use crate::common::family::ours;
use crate::common::launch::{Launch, Outcome};
use crate::common::matrix::{Setting, same, with_library};
use crate::common::programs::Build;

/// Returns the text of the file as serial HDF5 reads it.
fn dump(outcome: &Outcome) -> String {
    let path = outcome.folder.path().join("data.h5");
    let output = Command::new("h5dump").arg(&path).output();
    let output = output.unwrap_or_else(|cause| panic!("h5dump: {cause}; install it (Debian: hdf5-tools)"));
    let said = String::from_utf8_lossy(&output.stdout).replace(&path.display().to_string(), "data.h5");
    assert!(output.status.success(), "h5dump: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn hyperslabs_points_and_chunks() {
    let family = ours().name();
    let build = Build::default().with_module(&format!("hdf5-{family}"), &format!("libhdf5-{family}-dev"));
    let launch = Launch::new(4, &build.compile("hdf5.c"));
    let plain = launch.run();
    let due = dump(&plain);
    assert!(due.contains("DATASET \"chunks-turns\""), "{due}");
    with_library(&launch, &Setting::few(), &["write_at_all", "read_at_all"], |outcome, what| {
        same(outcome, &plain, what);
        assert!(dump(outcome) == due, "{what}: h5dump reads something else");
    });
}
