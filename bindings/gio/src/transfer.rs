//! GIO's writes and reads: collective and independent.
//!
//! An independent call of a few pieces makes a system call for each. Many pieces go through the engine, on a handle that
//! only this rank has opened: a read takes neighbouring pieces at once; a write touches only its own bytes, because other
//! ranks may write between them.

use std::ffi::c_void;

use tributary::access::{Memory, OwnedAccess};
use tributary::engine::binding::{self, Asked, Moved};
use tributary::{BufferLayout, Direction, Error, Result};
use tributary_bindings::opening::only_read;

use crate::handle::GioFile;
use crate::lists::moves;

/// Maximum number of pieces that are moved one by one.
const FEW: u64 = 16;

moves! {
    /// Writes this rank's data. Collective; a rank without data passes counts of 0. Returns this rank's bytes, or a code.
    GIO_write_all(*const c_void) transfer_all Write;
    /// Reads this rank's data. Collective. Returns the number of this rank's bytes before the end of the file, or a code.
    GIO_read_all(*mut c_void) transfer_all Read;
    /// Writes this rank's data. Not collective. Returns its number of bytes, or a code.
    GIO_write(*const c_void) transfer_independent Write;
    /// Reads this rank's data. Not collective. Returns the number of bytes before the end of the file, or a code.
    GIO_read(*mut c_void) transfer_independent Read;
}

fn has_few_pieces(access: &OwnedAccess<'_>) -> bool {
    let in_memory = match &access.layout {
        BufferLayout::Contiguous => 1,
        BufferLayout::Extents(extents) => extents.count(),
    };
    access.file.count().saturating_add(in_memory) <= FEW
}

impl GioFile {
    /// Moves the bytes in a collective call. A rank with an error takes part, so that all ranks get the error.
    fn transfer_all(&mut self, direction: Direction, access: Result<OwnedAccess<'_>>) -> Result<u64> {
        let mut access = match access.and_then(|access| self.may(direction).map(|()| access)) {
            Ok(access) => access,
            Err(error) => return Err(binding::refuse(&mut self.file, direction, error)),
        };
        let Moved { bytes, report } = binding::transfer(&mut self.file, Asked::new(access.lent()))?;
        if direction == Direction::Write {
            self.wrote(report.path, bytes);
        }
        Ok(bytes)
    }

    /// Moves the bytes of an independent call. Not collective.
    fn transfer_independent(&mut self, direction: Direction, access: Result<OwnedAccess<'_>>) -> Result<u64> {
        let mut access = access?;
        self.may(direction)?;
        if access.file.bytes() == 0 {
            return Ok(0);
        }
        self.unsynced |= direction == Direction::Write;
        if !has_few_pieces(&access) {
            self.wait_for_writes()?;
            return Ok(binding::transfer(self.independent()?, Asked::new(access.lent()))?.bytes);
        }
        let mut bytes = 0;
        access.lent().each_piece(|offset, memory| {
            bytes += match memory {
                Memory::Source(source) => self.file.write_at(offset, source)?,
                Memory::Sink(sink) => self.file.read_at(offset, sink)?,
            };
            Ok(())
        })?;
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
