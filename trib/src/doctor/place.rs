//! Finds the file system of a path, and the stripes that a file there has, or a new one would get, as the drivers see
//! them.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::Serialize;
use tributary::drivers::{DriverHints, DriverName, Mode, OpenStorage, SystemFiles, driver};

use crate::cli::doctor::DEFAULT_PATH;
use crate::compare::machine;

/// File system of a path.
#[derive(Debug, Serialize)]
pub struct FilePlace {
    pub path: PathBuf,
    /// The nearest folder above the path that exists, if the folder of the path does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<PathBuf>,
    /// Name of the file system, or the number of an unknown one.
    pub file_system: String,
    pub driver: &'static str,
    /// True if two hosts may write into one page at a time.
    pub is_coherent: bool,
    /// True if MPI runs the calls on files there, unless `trib_driver` names a driver: DAOS.
    pub is_left_to_mpi: bool,
    /// Stripes or blocks of the file, if the file system has them.
    pub stripes: Option<FileStripes>,
}

/// Layout of a file on its servers.
#[derive(Debug, Serialize)]
pub struct FileStripes {
    /// Number of bytes of a stripe or block.
    pub unit: u64,
    /// Number of servers; 0 if it is not known.
    pub factor: u32,
}

impl FilePlace {
    /// Finds the file system of a file or a directory; for a missing file, the file system of its directory. Reports a problem
    /// if that directory is missing, or if this user cannot create a file in it.
    pub fn from_path(path: &Path, problems: &mut Vec<String>) -> Self {
        // This user need not be able to write in the current directory, which is only the default path.
        let is_default = path == Path::new(DEFAULT_PATH);
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let missing = path.parent().filter(|folder| !path.exists() && !folder.is_dir());
        if let Some(folder) = missing {
            problems.push(format!(
                "path: {}: there is no folder {}; make it, or correct --path",
                path.display(),
                folder.display()
            ));
        }
        problems.extend(not_writable(&path).filter(|_| !is_default));
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(&path);
        let name = DriverName::Auto.resolved(&SystemFiles, there);
        let layout = || {
            let file = SystemFiles.open(there, Mode::Read).ok()?;
            driver(name, there).layout(&SystemFiles, there, &*file, &DriverHints::default()).ok()
        };
        let layout = if [DriverName::Posix, DriverName::Nfs].contains(&name) { None } else { layout() };
        let found = SystemFiles.file_system(there);
        Self {
            nearest: missing.map(|_| there.to_path_buf()),
            file_system: machine::file_system(there),
            driver: name.as_str(),
            is_coherent: found.is_none_or(|found| found.is_coherent()),
            is_left_to_mpi: found.is_some_and(|found| found.is_daos),
            stripes: layout.map(|layout| FileStripes { unit: layout.unit, factor: layout.factor }),
            path,
        }
    }
}

/// Returns the problem of a folder, or of the folder of a missing file, in which this user can make no file.
fn not_writable(path: &Path) -> Option<String> {
    let folder = match path.is_dir() {
        true => path,
        false => path.parent().filter(|folder| !path.exists() && folder.is_dir())?,
    };
    let cause = access(folder, AccessFlags::W_OK | AccessFlags::X_OK).err()?;
    let folder = folder.display();
    Some(format!("path: {folder}: {}; a program of this user can make no file there; correct --path", cause.desc()))
}
