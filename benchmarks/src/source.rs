//! Holds the bytes of a file: mapped, part of the program, or in memory. Clones share the bytes.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::PatternError;

/// The bytes of a file; a clone costs nothing.
#[derive(Debug, Clone)]
pub enum SharedBytes {
    /// The bytes of a memory-mapped file.
    Mapped(Arc<Mmap>),
    /// Bytes that are part of the program.
    Static(&'static [u8]),
    /// Bytes in memory.
    Shared(Arc<[u8]>),
}

impl SharedBytes {
    /// Maps a file for reading. `what` says what the file should be, for errors ("a NetCDF file"). The file must not
    /// be shortened while it is in use: the operating system would end the process.
    ///
    /// # Errors
    /// The file does not exist, is not a regular file, or is empty; or the operating system's error.
    pub fn map(path: &Path, what: &str) -> Result<Self, PatternError> {
        // Asked before opening: opening a pipe would wait for its writer.
        let facts = std::fs::metadata(path).map_err(|e| PatternError::io(path, "open", &e))?;
        if !facts.is_file() {
            let kind = if facts.is_dir() { "a directory" } else { "no regular file" };
            return Err(PatternError::input(path.display(), "file", format!("is {kind}, not {what}")));
        }
        if facts.len() == 0 {
            return Err(PatternError::input(path.display(), "file", format!("is empty, not {what}")));
        }
        let file = std::fs::File::open(path).map_err(|e| PatternError::io(path, "open", &e))?;
        // SAFETY: the mapping is private and read-only; nothing in this process writes the file. A file that another
        // process changes meanwhile yields other values, which are checked, or SIGBUS when shortened (documented).
        let map = unsafe { Mmap::map(&file) }.map_err(|e| PatternError::io(path, "map", &e))?;
        Ok(Self::Mapped(Arc::new(map)))
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Static(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl From<&'static [u8]> for SharedBytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self::Static(bytes)
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(bytes.into())
    }
}
