//! This rank's part of a call: which bytes of the file, and where they are in memory.

use std::path::Path;

use tributary::error::IoClass;
use tributary::{BufferLayout, CallReport, Error, Extents, File, ReadReport, Result, Sink, Source};

/// This rank's access in one call.
#[derive(Debug)]
pub struct Access {
    /// Its extents in the file.
    pub file: Extents,
    /// Where its bytes are in memory, relative to `memory`.
    pub layout: BufferLayout,
    /// Address of the first byte in memory; never null.
    pub memory: *mut u8,
    /// Bytes from there to the end of the layout, gaps included.
    pub span: usize,
}

impl Access {
    /// Bytes to be moved.
    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    /// The memory, to be written to the file.
    ///
    /// # Safety
    /// What the layout lists is valid for reads, and nobody writes to it, during the lifetime of the result.
    pub unsafe fn source<'a>(&self) -> Source<'a> {
        // SAFETY: the caller's promise.
        unsafe { Source::from_raw_parts(self.memory, self.span) }
    }

    /// The memory, to be read into.
    ///
    /// # Safety
    /// What the layout lists is valid for writes, and nothing else uses it, during the lifetime of the result.
    pub unsafe fn sink<'a>(&self) -> Sink<'a> {
        // SAFETY: the caller's promise.
        unsafe { Sink::from_raw_parts(self.memory, self.span) }
    }

    /// Writes, and waits until the bytes are in the file: also for dedicated I/O ranks. Collective.
    ///
    /// # Errors
    /// Those of the engine, the same on all ranks.
    ///
    /// # Safety
    /// What the layout lists is valid for reads, and nobody writes to it meanwhile.
    pub unsafe fn write(&self, file: &mut File) -> Result<CallReport> {
        // SAFETY: the caller's promise.
        let handed = file.write_all_from(&self.file, &self.layout, unsafe { self.source() })?;
        Ok(file.complete_write()?.unwrap_or(handed))
    }

    /// Reads. Collective.
    ///
    /// # Errors
    /// Those of the engine, the same on all ranks.
    ///
    /// # Safety
    /// What the layout lists is valid for writes, and nothing else uses it meanwhile.
    pub unsafe fn read(&self, file: &mut File) -> Result<ReadReport> {
        // SAFETY: the caller's promise.
        file.read_all_into(&self.file, &self.layout, unsafe { self.sink() })
    }
}

/// The error of a write to a file that was opened for reading only, by the flag `with`.
pub fn only_read(file: &mut File, path: &Path, with: &str) -> Error {
    Error::Io {
        rank: file.endpoint().rank(),
        operation: "write".to_string(),
        path: path.display().to_string(),
        offset: 0,
        class: IoClass::ReadOnly,
        cause: format!("it was opened with {with}"),
    }
}
