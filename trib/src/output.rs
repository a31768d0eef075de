//! File of a replay: the user's, or a temporary one.

use std::path::{Path, PathBuf};

use tributary::Error;
use tributary::error::FileOperation;

use crate::Failure;
use crate::cli::replay::Wanted;

/// File of a replay.
pub enum Output {
    /// The user's file, which is written and kept.
    Kept(PathBuf),
    /// The user's file, which is only read.
    Read(PathBuf),
    /// A temporary file in `$TMPDIR`.
    Temporary(tempfile::TempPath),
}

impl Output {
    /// Returns the file that the options name.
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

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Kept(path) | Self::Read(path) => path,
            Self::Temporary(path) => path,
        }
    }

    /// Returns the path of the file, if it is kept.
    pub fn kept(&self) -> Option<&Path> {
        match self {
            Self::Kept(path) | Self::Read(path) => Some(path),
            Self::Temporary(_) => None,
        }
    }

    /// Returns the error as a failure, with a note that a kept file is incomplete.
    pub fn failed(&self, error: Error) -> Failure {
        let writes = !matches!(self, Self::Read(_));
        let moves = |operation: &_| matches!(operation, FileOperation::Write | FileOperation::Read);
        let begun = writes && matches!(&error, Error::Io { operation, .. } if moves(operation));
        Failure::new(match self.kept().filter(|_| begun) {
            Some(path) => format!("{error}; {} is incomplete", path.display()),
            None => error.to_string(),
        })
    }
}
