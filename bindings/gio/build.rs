//! Compiles what only a C compiler knows of `mpi.h`, and gives the shared library the name that programs of GIO load.

fn main() {
    println!("cargo:rerun-if-changed=src/communicator.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    // Where a static PnetCDF with GIO is: the test that links it is ignored without.
    println!("cargo:rerun-if-env-changed=TRIB_PNETCDF_GIO");
    println!("cargo:rustc-check-cfg=cfg(pnetcdf_gio)");
    if std::env::var_os("TRIB_PNETCDF_GIO").is_some() {
        println!("cargo:rustc-cfg=pnetcdf_gio");
    }
    #[cfg(feature = "mpi")]
    {
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_string());
        cc::Build::new().compiler(mpicc).file("src/communicator.c").compile("tributary_gio_shim");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgio.so.0");
    }
}
