//! Loads an MPI library for a program that is linked with none.
//!
//! A Rust program that uses this project is one binary for every MPI library. The program loads the library that
//! belongs to its launcher, which it recognises by environment variables.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use tributary_base::variable;

use crate::find::{Mpi, Refusal, find};
use crate::library::Library;

/// Environment variable with which the user names the library: a path, or a name for the dynamic linker.
const CHOICE: &str = "TRIB_MPI";
/// File names of libraries with MPICH's ABI. Debian renames them.
const MPICH: [&str; 2] = ["libmpi.so.12", "libmpich.so.12"];
const OPEN_MPI: &str = "libmpi.so.40";
const STANDARD: &str = "libmpi_abi.so.1";

/// Loads an MPI library, unless the process has one. Loads the library that `$TRIB_MPI` names or, if that is not set,
/// a library with a usual name, first from the folder `lib` beside the folder of `mpiexec`, then from the dynamic
/// linker's search path. A program with more rights than its user (set-user-ID) reads no variable for this.
///
/// # Errors
/// No library can be loaded, or its ABI is not known.
pub fn load() -> Result<&'static Mpi, NotLoaded> {
    match find() {
        Ok(mpi) => return Ok(mpi),
        Err(Refusal::NotThere) => {}
        Err(refusal) => return Err(NotLoaded::Refused(refusal)),
    }
    let environment = variable;
    let candidates = match environment(CHOICE).filter(|choice| !choice.is_empty()) {
        Some(choice) => vec![PathBuf::from(choice)],
        None => candidates(|name| environment(name).is_some(), folder_of_launcher().as_deref()),
    };
    let mut failures = Vec::new();
    for candidate in candidates {
        match Library::load(&candidate) {
            Ok(()) => return find().map_err(NotLoaded::Refused),
            Err(why) => failures.push(why),
        }
    }
    Err(NotLoaded::Failed(failures))
}

/// Returns the libraries to try, the most likely first. `has` returns true if an environment variable is set.
fn candidates(has: impl Fn(&str) -> bool, folder: Option<&Path>) -> Vec<PathBuf> {
    let open_mpi = has("OMPI_COMM_WORLD_SIZE");
    // Variables of Hydra, the launcher of MPICH and its derivatives, and of Slurm with their protocol.
    let mpich = !open_mpi && (has("PMI_RANK") || has("PMI_FD") || has("PMI_PORT"));
    let names: &[&str] = match () {
        () if open_mpi => &[OPEN_MPI, STANDARD],
        () if mpich => &[MPICH[0], MPICH[1], STANDARD],
        () if has("PMIX_RANK") => &[OPEN_MPI, MPICH[0], MPICH[1], STANDARD],
        () => &[MPICH[0], MPICH[1], OPEN_MPI, STANDARD],
    };
    let beside = names.iter().filter_map(|name| Some(folder?.join(name)).filter(|path| path.is_file()));
    beside.chain(names.iter().map(PathBuf::from)).collect()
}

/// Returns the folder `lib` beside the folder of `mpiexec`.
fn folder_of_launcher() -> Option<PathBuf> {
    let path = variable("PATH")?;
    let launcher = std::env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|path| path.is_file())?;
    Some(launcher.canonicalize().ok()?.parent()?.parent()?.join("lib"))
}

/// The reason why no MPI library was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLoaded {
    /// The dynamic linker's message for each library that was tried.
    Failed(Vec<String>),
    /// There is an MPI library, but its ABI is unknown.
    Refused(Refusal),
}

impl Display for NotLoaded {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(to),
            Self::Failed(why) => write!(
                to,
                "MPI library: none can be loaded ({}); allowed: one that {CHOICE} names by its path, or that \
                 LD_LIBRARY_PATH finds as {}, {}, {OPEN_MPI} or {STANDARD}",
                why.join("; "),
                MPICH[0],
                MPICH[1],
            ),
        }
    }
}

impl Error for NotLoaded {}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(environment: &[&str], folder: Option<&Path>) -> Vec<String> {
        let all = candidates(|name| environment.contains(&name), folder);
        all.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn the_launcher_determines_the_library() {
        assert_eq!(tried(&["OMPI_COMM_WORLD_SIZE", "PMIX_RANK"], None), ["libmpi.so.40", "libmpi_abi.so.1"]);
        assert_eq!(tried(&["PMI_RANK"], None), ["libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"]);
        assert_eq!(tried(&["PMIX_RANK"], None)[0], "libmpi.so.40");
        assert_eq!(tried(&[], None).len(), 4);
    }

    #[test]
    fn libraries_beside_the_launcher_come_first() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libmpi.so.12"), "").unwrap();
        let own = folder.path().join("libmpi.so.12").display().to_string();
        assert_eq!(tried(&["PMI_RANK"], Some(folder.path()))[..2], [own, "libmpi.so.12".to_string()]);
    }

    #[test]
    fn the_error_lists_what_was_tried() {
        let said = NotLoaded::Failed(vec!["libx.so: no such file".to_string()]).to_string();
        assert!(said.contains("libx.so: no such file") && said.contains("TRIB_MPI"), "{said}");
    }
}
