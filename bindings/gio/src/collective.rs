//! Collective writes and reads.

use std::ffi::c_void;

use tributary::{Error, Result};
use tributary_bindings::access::{Access, only_read};

use crate::MPI_Offset;
use crate::guard::moved;
use crate::handle::{GioFile, opened};
use crate::lists::{access, list};

/// Writes this rank's data. Collective; a rank without data passes counts of 0. Returns this rank's bytes, or a code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_write_all(
    fh: *mut GioFile,
    buf: *const c_void,
    file_npairs: MPI_Offset,
    file_offs: *const MPI_Offset,
    file_lens: *const MPI_Offset,
    buf_npairs: MPI_Offset,
    buf_offs: *const MPI_Offset,
    buf_lens: *const MPI_Offset,
) -> MPI_Offset {
    let file = list("file", file_npairs, file_offs, file_lens);
    let memory = list("buf", buf_npairs, buf_offs, buf_lens);
    // SAFETY: the caller's promises: lists as long as said, memory that they describe, nobody else at the file.
    moved("GIO_write_all", || unsafe { opened(fh)?.write_all(access(file, memory, buf.cast_mut().cast())) })
}

/// Reads this rank's data. Collective. Returns the number of this rank's bytes before the end of the file, or a code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_read_all(
    fh: *mut GioFile,
    buf: *mut c_void,
    file_npairs: MPI_Offset,
    file_offs: *const MPI_Offset,
    file_lens: *const MPI_Offset,
    buf_npairs: MPI_Offset,
    buf_offs: *const MPI_Offset,
    buf_lens: *const MPI_Offset,
) -> MPI_Offset {
    let file = list("file", file_npairs, file_offs, file_lens);
    let memory = list("buf", buf_npairs, buf_offs, buf_lens);
    // SAFETY: as above.
    moved("GIO_read_all", || unsafe { opened(fh)?.read_all(access(file, memory, buf.cast())) })
}

impl GioFile {
    /// # Safety
    /// The memory that the access lists is valid for reads.
    unsafe fn write_all(&mut self, access: Result<Access>) -> Result<u64> {
        let access = match access.and_then(|access| self.writable().map(|()| access)) {
            Ok(access) => access,
            Err(error) => return Err(self.file.refuse(error)),
        };
        // SAFETY: the caller's promise.
        let report = unsafe { access.write(&mut self.file)? };
        self.note(&report, access.bytes());
        Ok(access.bytes())
    }

    /// # Safety
    /// The memory that the access lists is valid for writes, and nothing else uses it.
    unsafe fn read_all(&mut self, access: Result<Access>) -> Result<u64> {
        let access = match access.and_then(|access| self.readable().map(|()| access)) {
            Ok(access) => access,
            Err(error) => return Err(self.file.refuse(error)),
        };
        // SAFETY: the caller's promise.
        Ok(unsafe { access.read(&mut self.file)? }.bytes)
    }

    /// # Errors
    /// The file was opened for reading only.
    pub(crate) fn writable(&mut self) -> Result<()> {
        match self.access.write {
            true => Ok(()),
            false => Err(only_read(&mut self.file, &self.path, "O_RDONLY")),
        }
    }

    /// # Errors
    /// The file was opened for writing only.
    pub(crate) fn readable(&self) -> Result<()> {
        match self.access.read {
            true => Ok(()),
            false => Err(Error::argument("fh", "opened with O_WRONLY", "a file that may be read")),
        }
    }
}
