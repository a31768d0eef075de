//! The file of a replay: the user's, or a temporary one.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::cli::replay::Wanted;

/// A file that is kept, or a temporary one.
pub enum Output {
    /// The user's file, which is written and kept.
    Kept(PathBuf),
    /// The user's file, which is only read.
    Read(PathBuf),
    /// A temporary file in `$TMPDIR`.
    Temporary(tempfile::TempPath),
}

impl Output {
    /// The file that the options name.
    ///
    /// # Errors
    /// No temporary file can be made.
    pub fn from_wanted(wanted: &Wanted) -> Result<Self, Failure> {
        if let Some(path) = &wanted.read_only {
            return Ok(Self::Read(path.clone()));
        }
        if let Some(path) = &wanted.output {
            return Ok(Self::Kept(path.clone()));
        }
        let file = tempfile::Builder::new().prefix("trib-").suffix(".out").tempfile();
        let fail = |cause| Failure::new(format!("no temporary file in {}: {cause}", std::env::temp_dir().display()));
        Ok(Self::Temporary(file.map_err(fail)?.into_temp_path()))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Kept(path) | Self::Read(path) => path,
            Self::Temporary(path) => path,
        }
    }

    /// Its path, if it is kept.
    pub fn kept(&self) -> Option<&Path> {
        match self {
            Self::Kept(path) | Self::Read(path) => Some(path),
            Self::Temporary(_) => None,
        }
    }

    /// The error, with a note that a kept file is incomplete.
    pub fn failed(&self, error: tributary::Error) -> Failure {
        let writes = !matches!(self, Self::Read(_));
        let begun = writes
            && matches!(&error, tributary::Error::Io { operation, .. } if operation == "write" || operation == "read");
        Failure::new(match self.kept().filter(|_| begun) {
            Some(path) => format!("{error}; {} is incomplete", path.display()),
            None => error.to_string(),
        })
    }
}
