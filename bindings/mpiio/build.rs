//! Gives the shared library its name for the dynamic linker. The name has no version number, because the library's
//! interface is MPI's.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtributary_mpiio.so");
}
