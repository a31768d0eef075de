//! An installation as `bindings/install` makes it, of the program and the library under test.

use std::path::{Path, PathBuf};

/// Installs the program, `library` and the component of Open MPI below `root`. Returns the path of the program.
pub fn install(root: &Path, library: &Path) -> PathBuf {
    let at = |name: &str| root.join(name);
    std::fs::create_dir(at("bin")).and_then(|()| std::fs::create_dir_all(at("lib/tributary/openmpi"))).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_trib"), at("bin/trib")).unwrap();
    std::fs::copy(library, at("lib/libtributary_mpiio.so")).unwrap();
    let component = at("lib/tributary/openmpi/mca_io_tributary.so");
    std::os::unix::fs::symlink("../../libtributary_mpiio.so", component).unwrap();
    at("bin/trib")
}
