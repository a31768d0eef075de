//! Gives the shared library the name that programs of GIO load.

fn main() {
    // The directory of a static PnetCDF with GIO. Without it the test that links it is ignored.
    println!("cargo:rerun-if-env-changed=TRIB_PNETCDF_GIO");
    println!("cargo:rustc-check-cfg=cfg(pnetcdf_gio)");
    if std::env::var_os("TRIB_PNETCDF_GIO").is_some() {
        println!("cargo:rustc-cfg=pnetcdf_gio");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgio.so.0");
}
