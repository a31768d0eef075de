//! Gives the shared library its name for the dynamic linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtributary.so.0");
}
