//! An MPI library for a program that was linked with none.
//!
//! A program in Rust on this project is one binary for every MPI library. It loads the library that belongs to the launcher
//! which started it: launchers leave marks in the environment.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use crate::find::{Mpi, Refusal, find};
use crate::library::Library;

/// The library to load, when the program's user says so: a path, or a name for the dynamic linker.
const CHOICE: &str = "TRIB_MPI";
/// What libraries of MPICH's interface are called. Debian renames them.
const MPICH: [&str; 2] = ["libmpi.so.12", "libmpich.so.12"];
const OPEN_MPI: &str = "libmpi.so.40";
const STANDARD: &str = "libmpi_abi.so.1";

/// Makes sure that the process has an MPI library: loads one, unless one is there. By `$TRIB_MPI` if it is set, or else by
/// its usual names, first in the folder `lib` beside that of `mpiexec`, then where the dynamic linker looks.
///
/// # Errors
/// None can be loaded, or it has an interface that is not known.
pub fn load() -> Result<&'static Mpi, NotLoaded> {
    match find() {
        Ok(mpi) => return Ok(mpi),
        Err(Refusal::NotThere) => {}
        Err(refusal) => return Err(NotLoaded::Refused(refusal)),
    }
    let environment = |name: &str| std::env::var_os(name);
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

/// What to try, the likeliest first. `has` tells whether a variable is in the environment.
fn candidates(has: impl Fn(&str) -> bool, folder: Option<&Path>) -> Vec<PathBuf> {
    let open_mpi = has("OMPI_COMM_WORLD_SIZE");
    // Hydra, the launcher of MPICH's family, and Slurm where it serves that family.
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

/// The folder `lib` beside the one that `mpiexec` is in.
fn folder_of_launcher() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let launcher = std::env::split_paths(&path).map(|folder| folder.join("mpiexec")).find(|path| path.is_file())?;
    Some(launcher.canonicalize().ok()?.parent()?.parent()?.join("lib"))
}

/// Why there is no MPI library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotLoaded {
    /// What the dynamic linker says of each that was tried.
    Failed(Vec<String>),
    /// There is one, but of an unknown interface.
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
    fn the_launcher_tells_the_library() {
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
    fn what_was_tried_is_said() {
        let said = NotLoaded::Failed(vec!["libx.so: no such file".to_string()]).to_string();
        assert!(said.contains("libx.so: no such file") && said.contains("TRIB_MPI"), "{said}");
    }
}
