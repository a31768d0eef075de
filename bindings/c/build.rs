//! Compiles what only a C compiler knows of `mpi.h`, and gives the shared library its name for the dynamic linker.

fn main() {
    println!("cargo:rerun-if-changed=src/communicator.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    {
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_string());
        cc::Build::new().compiler(mpicc).file("src/communicator.c").compile("tributary_c_shim");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtributary.so.0");
    }
}
