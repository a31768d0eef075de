//! Gives the shared library its name for the dynamic linker. The name has no version number, because the library's
//! interface is MPI's. The library is never unloaded: Open MPI unloads its components, but this library's threads and
//! callbacks stay.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtributary_mpiio.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
