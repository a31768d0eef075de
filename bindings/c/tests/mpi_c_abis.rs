//! Tests the C API under every MPI library: one installation, with programs compiled for each ABI.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tributary_testing::installed::{crate_directory, expect, prefix, printed};
use tributary_testing::wheels::Wheel;

/// Returns the C example, compiled by a wrapper of this MPI library and linked with Tributary.
fn compiled(wheel: &Wheel, mpicc: &str) -> PathBuf {
    let made = prefix().join(format!("checkerboard.{mpicc}-{}", wheel.is_open_mpi));
    let (include, lib) = (prefix().join("include"), prefix().join("lib"));
    let (include, lib) = (format!("-I{}", include.display()), lib.display().to_string());
    let arguments = [&include, &format!("-L{lib}"), "-ltributary", &format!("-Wl,-rpath,{lib}")];
    wheel.compile(mpicc, &arguments, &crate_directory().join("examples/checkerboard.c"), &made);
    made
}

/// Runs the program on two ranks under this MPI library.
fn check(wheel: &Wheel, program: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(wheel.program("mpiexec"));
    command.args(["-n", "2"]).arg(program).arg(folder.path().join("file")).envs(wheel.environment());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe").env("MPIEXEC_TIMEOUT", "60");
    let output = expect(command.stdin(Stdio::null()), "the example");
    assert!(printed(&output).contains("verified"), "{}", printed(&output));
}

#[test]
fn mpichs_interface_and_the_standard_one() {
    let Some(mpich) = Wheel::mpich() else { return };
    let intel = Wheel::intel();
    for mpicc in ["mpicc", "mpicc_abi"] {
        let program = compiled(&mpich, mpicc);
        for wheel in [Some(&mpich), intel.as_ref()].into_iter().flatten() {
            check(wheel, &program);
        }
    }
}

#[test]
fn open_mpis_interface() {
    let Some(open_mpi) = Wheel::open_mpi() else { return };
    check(&open_mpi, &compiled(&open_mpi, "mpicc"));
}
