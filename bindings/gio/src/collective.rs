//! GIO's collective writes and reads.

use std::ffi::c_void;

use tributary::engine::Direction;
use tributary::engine::binding::{self, Moved};
use tributary::{Error, Result};
use tributary_bindings::access::{Access, only_read};

use crate::handle::GioFile;
use crate::lists::moves;

moves! {
    /// Writes this rank's data. Collective; a rank without data passes counts of 0. Returns this rank's bytes, or a code.
    GIO_write_all(*const c_void) transfer_all Write;
    /// Reads this rank's data. Collective. Returns the number of this rank's bytes before the end of the file, or a code.
    GIO_read_all(*mut c_void) transfer_all Read;
}

impl GioFile {
    /// Moves the bytes in a collective call. A rank with an error takes part, so that all ranks get the error.
    ///
    /// # Safety
    /// The memory that the access lists is valid, and nothing else uses it.
    unsafe fn transfer_all(&mut self, direction: Direction, access: Result<Access>) -> Result<u64> {
        let access = match access.and_then(|access| self.may(direction).map(|()| access)) {
            Ok(access) => access,
            Err(error) => return Err(binding::refuse(&mut self.file, direction, error)),
        };
        // SAFETY: the caller's promise.
        let Moved { bytes, report } = binding::transfer(&mut self.file, unsafe { access.asked(direction) })?;
        if direction == Direction::Write {
            self.wrote(report.path, bytes);
        }
        Ok(bytes)
    }

    /// # Errors
    /// The file was opened for the other direction only.
    pub(crate) fn may(&mut self, direction: Direction) -> Result<()> {
        match direction {
            Direction::Write if !self.access.write => Err(only_read(&mut self.file, &self.path, "O_RDONLY")),
            Direction::Read if !self.access.read => {
                Err(Error::state("the file was opened with O_WRONLY; open it with O_RDWR to read"))
            }
            _ => Ok(()),
        }
    }
}
