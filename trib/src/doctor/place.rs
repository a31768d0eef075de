//! The file system of a path, and the stripes that a file there has, or a new one would get, as the drivers see them.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tributary::drivers::{DriverHints, DriverName, OpenStorage, SystemFiles, driver};

use crate::compare::machine;

/// A place for files.
#[derive(Debug, Serialize)]
pub struct FilePlace {
    pub path: PathBuf,
    /// The folder that was looked at, where that of the path is not there: the nearest one above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<PathBuf>,
    /// Its name, or the number of an unknown one.
    pub file_system: String,
    pub driver: &'static str,
    /// Whether two hosts may write into one page at a time.
    pub is_coherent: bool,
    /// Where the file system has stripes or blocks.
    pub stripes: Option<Stripes>,
}

/// How a file lies on its servers.
#[derive(Debug, Serialize)]
pub struct Stripes {
    /// Bytes that lie together.
    pub unit: u64,
    /// Servers; 0 where it is not known.
    pub factor: u32,
}

impl FilePlace {
    /// That of a file or a directory; of a file that is not there, of its directory. A directory that is not there is a problem.
    pub fn of(path: &Path, problems: &mut Vec<String>) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let missing = path.parent().filter(|folder| !path.exists() && !folder.is_dir());
        if let Some(folder) = missing {
            problems.push(format!(
                "path: {}: there is no folder {}; make it, or correct --path",
                path.display(),
                folder.display()
            ));
        }
        let there = path.ancestors().find(|path| path.exists()).unwrap_or(&path);
        let name = DriverName::Auto.resolved(&SystemFiles, there);
        let layout = || {
            let file = File::open(there).ok()?;
            driver(name, there).layout(&SystemFiles, there, &file, &DriverHints::default()).ok()
        };
        let layout = if name == DriverName::Posix { None } else { layout() };
        Self {
            nearest: missing.map(|_| there.to_path_buf()),
            file_system: machine::file_system(there),
            driver: name.as_str(),
            is_coherent: SystemFiles.file_system(there).is_none_or(|found| found.is_coherent()),
            stripes: layout.map(|layout| Stripes { unit: layout.unit, factor: layout.factor }),
            path,
        }
    }
}
