//! Gives the shared library its name for the dynamic linker. It has no number: what the library has is the interface of MPI.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtributary_mpiio.so");
}
