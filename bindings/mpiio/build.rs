//! Gives the shared library its name for the dynamic linker. The name has no version number, because the library's
//! interface is MPI's. The library is never unloaded: Open MPI unloads its components, but this library's threads and
//! callbacks stay.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The directory of a static PnetCDF with GIO. Without it the test that links it is ignored.
    println!("cargo:rerun-if-env-changed=TRIB_PNETCDF_GIO");
    println!("cargo:rustc-check-cfg=cfg(pnetcdf_gio)");
    if std::env::var_os("TRIB_PNETCDF_GIO").is_some() {
        println!("cargo:rustc-cfg=pnetcdf_gio");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtributary_mpiio.so");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
