//! Compiles what only a C compiler knows of `mpi.h`: constants that are macros, and which functions there are.

fn main() {
    #[cfg(feature = "mpi")]
    shim::build();
}

#[cfg(feature = "mpi")]
mod shim {
    use std::path::PathBuf;

    /// The C side of the module `abi`.
    const SOURCES: &[&str] = &["constants.c", "combiner.c"];

    pub fn build() {
        println!("cargo:rerun-if-env-changed=MPICC");
        println!("cargo:rustc-check-cfg=cfg(large_count, open_mpi)");
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_string());
        let mut shim = cc::Build::new();
        shim.compiler(&mpicc);
        for source in SOURCES {
            let path = PathBuf::from("src/abi").join(source);
            println!("cargo:rerun-if-changed={}", path.display());
            shim.file(path);
        }
        shim.compile("tributary_mpiio_shim");
        // The `_c` functions of MPI-4.
        if compiles(&mpicc, "large_count", "void *probe(void) { return (void *)MPI_File_write_all_c; }") {
            println!("cargo:rustc-cfg=large_count");
        }
        if compiles(&mpicc, "open_mpi", "int probe = OMPI_MAJOR_VERSION;") {
            println!("cargo:rustc-cfg=open_mpi");
        }
    }

    /// Whether `text` compiles behind `mpi.h`.
    fn compiles(mpicc: &str, name: &str, text: &str) -> bool {
        let directory = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
        let probe = directory.join(name).with_extension("c");
        let compile = || {
            let mut command = std::process::Command::new(mpicc);
            command.args(["-Werror=implicit-function-declaration", "-c", "-o"]).arg(probe.with_extension("o"));
            command.arg(&probe).output()
        };
        let write = std::fs::write(&probe, format!("#include <mpi.h>\n{text}\n"));
        write.and_then(|()| compile()).is_ok_and(|output| output.status.success())
    }
}
