//! The library as a part of a program with a static MPI library: no dynamic linker finds MPI's functions, so a table names
//! them.
//!
//! `bindings/mpiio/package/static-library` makes the table, and the archive that has both. The program's calls reach this
//! library because the archive comes before that of MPI, in which `MPI_...` are weak names of `PMPI_...`.

use tributary_abi::LinkedFunction;

/// Takes the table of MPI's functions that are linked into the program. Called once, before `main`.
///
/// # Safety
/// `functions` has `count` functions and stays as it is.
#[unsafe(export_name = "tributary_mpiio_link")]
unsafe extern "C" fn link(functions: *const LinkedFunction, count: usize) {
    // SAFETY: the caller's promise.
    tributary_abi::link(unsafe { std::slice::from_raw_parts(functions, count) });
}
