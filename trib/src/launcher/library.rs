//! Finds the library to preload.

use std::path::{Path, PathBuf};

use crate::Failure;

/// File name of the preload library.
pub const FILE: &str = "libtributary_mpiio.so";

/// Returns the path of the library: the named one, or the one that was built or installed with this program.
///
/// # Errors
/// There is no such library.
pub fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        let found = given.is_file().then(|| given.canonicalize().ok()).flatten();
        return found.ok_or_else(|| {
            let shown = given.display();
            Failure::new(format!(
                "library: {shown}: no such file; name a {FILE}, or leave --library out: then trib takes the one beside itself"
            ))
        });
    }
    let candidates = std::env::current_exe().map(|program| places(&program)).unwrap_or_default();
    candidates.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        Failure::new(
            "library: none beside this program; allowed: --library PATH, with the library that `cargo build --release -p \
             tributary-mpiio` builds",
        )
    })
}

/// Returns the paths at which a library may be that was built or installed with this program.
fn places(program: &Path) -> Vec<PathBuf> {
    let program = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    let beside = program.parent().unwrap_or(Path::new("."));
    let folders = [beside.to_path_buf(), beside.join("../lib")];
    folders.iter().filter_map(|folder| folder.join(FILE).canonicalize().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_refused() {
        let said = library(Some(Path::new("nowhere.so"))).unwrap_err();
        assert_eq!(
            said.to_string(),
            "library: nowhere.so: no such file; name a libtributary_mpiio.so, or leave --library out: then trib takes the one beside \
             itself"
        );
    }

    #[test]
    fn a_library_beside_the_program_or_in_lib() {
        let prefix = tempfile::tempdir().unwrap();
        for name in ["bin/trib", "lib/libtributary_mpiio.so"] {
            let path = prefix.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let program = prefix.path().join("bin/trib");
        let installed = prefix.path().join("lib/libtributary_mpiio.so").canonicalize().unwrap();
        assert_eq!(places(&program), std::slice::from_ref(&installed));
        let built = prefix.path().join("bin/libtributary_mpiio.so");
        std::fs::write(&built, "").unwrap();
        assert_eq!(places(&program), [built.canonicalize().unwrap(), installed]);
    }
}
