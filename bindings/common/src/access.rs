//! Describes this rank's part of a call: the bytes of the file, and their positions in memory.

use std::path::Path;

use tributary::engine::Direction;
use tributary::error::{FileOperation, IoCause, IoClass};
use tributary::{BufferLayout, CallReport, Error, Extents, File, Result, Sink, Source};

/// This rank's access in one call: extents of the file, and the memory with its layout.
#[derive(Debug)]
pub struct Access {
    /// Extents of the access in the file.
    pub file: Extents,
    /// Positions of the bytes in memory, relative to `memory`.
    pub layout: BufferLayout,
    /// Address of the first byte in memory; never null.
    pub memory: *mut u8,
    /// Number of bytes from `memory` to the end of the layout, gaps included.
    pub span: usize,
}

impl Access {
    /// Returns the number of bytes that the call moves for this rank.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// Returns the memory whose bytes are written to the file.
    ///
    /// # Safety
    /// The memory that the layout lists is valid for reads, and nobody writes to it, during the lifetime of the
    /// result.
    pub unsafe fn source<'a>(&self) -> Source<'a> {
        // SAFETY: the caller's promise.
        unsafe { Source::from_raw_parts(self.memory, self.span) }
    }

    /// Returns the memory that the file's bytes are read into.
    ///
    /// # Safety
    /// The memory that the layout lists is valid for writes, and nothing else uses it, during the lifetime of the
    /// result.
    pub unsafe fn sink<'a>(&self) -> Sink<'a> {
        // SAFETY: the caller's promise.
        unsafe { Sink::from_raw_parts(self.memory, self.span) }
    }

    /// Moves the bytes and returns their number; a read counts only bytes before the end of the file. `note` gets the
    /// report. After a write the bytes are in the file. Collective.
    ///
    /// # Errors
    /// The errors of the engine, the same on all ranks.
    ///
    /// # Safety
    /// The requirements of [`Access::source`] for a write, and of [`Access::sink`] for a read, until this returns.
    pub unsafe fn transfer(
        &self,
        direction: Direction,
        file: &mut File,
        note: impl FnOnce(&CallReport),
    ) -> Result<u64> {
        match direction {
            Direction::Write => {
                // SAFETY: the caller's promise.
                note(&file.write_all(&self.file, &self.layout, unsafe { self.source() })?);
                Ok(self.bytes())
            }
            Direction::Read => {
                // SAFETY: the caller's promise.
                let read = file.read_all(&self.file, &self.layout, unsafe { self.sink() })?;
                note(&read.call);
                Ok(read.bytes)
            }
        }
    }
}

/// Returns the error for a write to a file that was opened for reading only. `with` is the flag of the open.
pub fn only_read(file: &mut File, path: &Path, with: &str) -> Error {
    Error::Io {
        rank: file.endpoint().rank(),
        operation: FileOperation::Write,
        path: path.display().to_string(),
        offset: None,
        class: IoClass::ReadOnly,
        cause: IoCause::from_text(format!("the file was opened with {with}")),
    }
}
