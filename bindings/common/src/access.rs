//! Describes this rank's part of a call: the bytes of the file, and their positions in memory.

use std::path::Path;

use tributary::engine::Direction;
use tributary::engine::binding::Asked;
use tributary::error::{FileOperation, IoCause, IoClass};
use tributary::{BufferLayout, Error, Extents, File, Sink, Source};

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

    /// Asks the engine to move the bytes.
    ///
    /// # Safety
    /// The requirements of [`Access::source`] for a write, and of [`Access::sink`] for a read, during the lifetime of the
    /// result.
    pub unsafe fn asked(&self, direction: Direction) -> Asked<'_> {
        match direction {
            // SAFETY: the caller's promise.
            Direction::Write => Asked::write(&self.file, &self.layout, unsafe { self.source() }),
            // SAFETY: likewise.
            Direction::Read => Asked::read(&self.file, &self.layout, unsafe { self.sink() }),
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
